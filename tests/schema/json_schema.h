// As much of JSON Schema as docs/schema uses. A keyword that is not checked here is itself a mismatch, so that no schema passes unread.
#pragma once
#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

namespace klineage::testing {

class JsonSchema {
public:
  explicit JsonSchema(nlohmann::json document) : root(std::move(document)) {}

  /// The first thing in which the value differs from the schema, or empty.
  std::string mismatch(const nlohmann::json &value) const { return differs(value, root, ""); }

private:
  using json = nlohmann::json;

  static bool hasType(const json &value, const std::string &type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_boolean();
    return type == "null" && value.is_null();
  }

  static std::string unknownKeyword(const json &schema, const std::string &at) {
    static const char *const known[] = {"$schema", "$id", "$defs", "$ref", "title", "description", "type", "enum", "const", "required", "properties",
                                        "additionalProperties", "items", "oneOf", "minItems", "minLength", "pattern", "minimum", "maximum",
                                        "exclusiveMinimum", "exclusiveMaximum"};
    for (const auto &[keyword, ignored] : schema.items())
      if (std::find(std::begin(known), std::end(known), keyword) == std::end(known)) return at + ": the schema says " + keyword + ", which nobody checks";
    return {};
  }

  std::string numberDiffers(const json &value, const json &schema, const std::string &at) const {
    double number = value.get<double>();
    bool good = (!schema.contains("minimum") || number >= schema["minimum"].get<double>()) && (!schema.contains("maximum") || number <= schema["maximum"].get<double>()) &&
                (!schema.contains("exclusiveMinimum") || number > schema["exclusiveMinimum"].get<double>()) &&
                (!schema.contains("exclusiveMaximum") || number < schema["exclusiveMaximum"].get<double>());
    return good ? "" : at + " is " + value.dump() + ", outside its bounds";
  }

  std::string stringDiffers(const json &value, const json &schema, const std::string &at) const {
    const auto &text = value.get_ref<const std::string &>();
    if (schema.contains("minLength") && text.size() < schema["minLength"].get<size_t>()) return at + " is too short";
    if (schema.contains("pattern") && !std::regex_search(text, std::regex(schema["pattern"].get<std::string>()))) return at + " does not look like " + schema["pattern"].dump();
    return {};
  }

  std::string objectDiffers(const json &value, const json &schema, const std::string &at) const {
    for (const auto &name : schema.value("required", json::array()))
      if (!value.contains(name.get<std::string>())) return at + " lacks " + name.get<std::string>();
    const json properties = schema.value("properties", json::object());
    for (const auto &[name, part] : value.items()) {
      if (properties.contains(name)) {
        if (auto problem = differs(part, properties[name], at + "/" + name); !problem.empty()) return problem;
      } else if (schema.contains("additionalProperties")) {
        const json &rest = schema["additionalProperties"];
        if (rest.is_boolean() && !rest.get<bool>()) return at + " holds " + name + ", which the schema does not know";
        if (rest.is_object())
          if (auto problem = differs(part, rest, at + "/" + name); !problem.empty()) return problem;
      }
    }
    return {};
  }

  std::string arrayDiffers(const json &value, const json &schema, const std::string &at) const {
    if (schema.contains("minItems") && value.size() < schema["minItems"].get<size_t>()) return at + " has too few items";
    if (schema.contains("items"))
      for (size_t i = 0; i < value.size(); ++i)
        if (auto problem = differs(value[i], schema["items"], at + "/" + std::to_string(i)); !problem.empty()) return problem;
    return {};
  }

  std::string differs(const json &value, const json &schema, const std::string &at) const {
    if (auto problem = unknownKeyword(schema, at); !problem.empty()) return problem;
    if (schema.contains("$ref")) {
      std::string path = schema["$ref"].get<std::string>();
      if (path.rfind("#", 0) != 0) return at + ": the schema refers to another file, " + path;
      if (auto problem = differs(value, root.at(json::json_pointer(path.substr(1))), at); !problem.empty()) return problem;
    }
    if (schema.contains("const") && schema["const"] != value) return at + " is not " + schema["const"].dump();
    if (schema.contains("enum") && std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) return at + " is " + value.dump() + ", not one of " + schema["enum"].dump();
    if (schema.contains("type")) {
      const json &type = schema["type"];
      bool good = type.is_string() ? hasType(value, type) : std::any_of(type.begin(), type.end(), [&](const json &one) { return hasType(value, one); });
      if (!good) return at + " is no " + type.dump();
    }
    if (schema.contains("oneOf")) {
      auto fits = std::count_if(schema["oneOf"].begin(), schema["oneOf"].end(), [&](const json &one) { return differs(value, one, at).empty(); });
      if (fits != 1) return at + " fits " + std::to_string(fits) + " of its forms, not one";
    }
    if (value.is_number()) return numberDiffers(value, schema, at);
    if (value.is_string()) return stringDiffers(value, schema, at);
    if (value.is_object()) return objectDiffers(value, schema, at);
    if (value.is_array()) return arrayDiffers(value, schema, at);
    return {};
  }

  json root;
};

inline std::string mismatch(const nlohmann::json &value, const nlohmann::json &schema) { return JsonSchema(schema).mismatch(value); }

} // namespace klineage::testing
