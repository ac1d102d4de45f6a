// As much of JSON Schema as docs/schema uses: type, const, enum, properties, required, additionalProperties, items.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace klineage::testing {

inline bool hasType(const nlohmann::json &value, const std::string &type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  return type == "null" && value.is_null();
}

/// The first thing in which the value differs from the schema, or empty.
inline std::string mismatch(const nlohmann::json &value, const nlohmann::json &schema, const std::string &at = "") {
  if (schema.contains("const") && schema["const"] != value) return at + " is not " + schema["const"].dump();
  if (schema.contains("enum") && std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) return at + " is " + value.dump() + ", not one of " + schema["enum"].dump();
  if (schema.contains("type")) {
    const auto &type = schema["type"];
    bool good = type.is_string() ? hasType(value, type) : std::any_of(type.begin(), type.end(), [&](const auto &one) { return hasType(value, one); });
    if (!good) return at + " is no " + type.dump();
  }
  for (const auto &name : schema.value("required", nlohmann::json::array()))
    if (!value.contains(name.get<std::string>())) return at + " lacks " + name.get<std::string>();
  if (value.is_object()) {
    const auto properties = schema.value("properties", nlohmann::json::object());
    for (const auto &[name, part] : value.items()) {
      if (properties.contains(name)) {
        if (auto problem = mismatch(part, properties[name], at + "/" + name); !problem.empty()) return problem;
      } else if (schema.contains("additionalProperties")) {
        const auto &rest = schema["additionalProperties"];
        if (rest.is_boolean() ? !rest.get<bool>() : !mismatch(part, rest, at + "/" + name).empty()) return at + " holds " + name + ", which the schema does not know";
      }
    }
  }
  if (value.is_array() && schema.contains("items"))
    for (size_t i = 0; i < value.size(); ++i)
      if (auto problem = mismatch(value[i], schema["items"], at + "/" + std::to_string(i)); !problem.empty()) return problem;
  return {};
}

} // namespace klineage::testing
