// Reading workload.json: every key is known, every value has its type, every expression is tried on every instance.
#include "support/files.h"
#include "support/hash.h"
#include "workload/located_json.h"
#include "workload/workload.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace klineage {
namespace {

using Node = LocatedJson;
using Kind = LocatedJson::Kind;

bool isIdentifier(const std::string &word) {
  if (word.empty() || (!std::isalpha(static_cast<unsigned char>(word[0])) && word[0] != '_')) return false;
  return std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

std::string listed(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Turns the tree into a Workload. The first mistake is kept and ends the reading of the value it is in.
class Loader {
public:
  Loader(std::filesystem::path folder, std::string file) : file(std::move(file)) { workload.folder = std::move(folder); }

  Result<Workload> load(const Node &root) {
    document(root);
    if (!error) instancesFit();
    if (!error) filesExist();
    if (error) return *error;
    return std::move(workload);
  }

private:
  void document(const Node &root);
  void axesFrom(const Node &node);
  void argumentsFrom(const Node &node);
  Argument argument(const Node &node);
  void instancesFrom(const Node &node);
  Instance instance(const Node &node);
  void axisValues(const Node &node, Instance &into);
  Fill fill(const Node &node, ElementType type);
  Tolerance tolerance(const Node &node, Tolerance from);
  void instancesFit();
  void filesExist();

  // Leaves. Each reports a mistake at its own line and then answers with something harmless.
  void fail(int line, std::string what, std::string mend = {}) {
    if (!error) error = userError(std::move(what), file + ":" + std::to_string(line), std::move(mend));
  }
  bool expect(const Node &node, Kind kind, const std::string &what) {
    if (node.kind == kind) return true;
    fail(node.line, what + " must be " + describe(kind) + ", but is " + describe(node.kind));
    return false;
  }
  void keys(const Node &node, const std::string &what, const std::vector<std::string> &known) {
    for (const Node::Member &member : node.members) {
      if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
      std::string near = nearestWord(member.key, known);
      return fail(member.line, what + " has no key \"" + member.key + "\"",
                  near.empty() ? "the keys are " + listed(known) : "did you mean \"" + near + "\"?");
    }
  }
  const Node *required(const Node &node, const std::string &key, const std::string &what) {
    const Node *value = node.find(key);
    if (!value) fail(node.line, what + " lacks the key \"" + key + "\"");
    return value;
  }
  std::string string(const Node &node, const std::string &what) {
    if (expect(node, Kind::String, what) && node.text.empty()) fail(node.line, what + " is empty");
    return node.text;
  }
  std::string identifier(const Node &node, const std::string &what) {
    std::string word = string(node, what);
    if (!error && !isIdentifier(word)) fail(node.line, what + " \"" + word + "\" is not a C identifier");
    return word;
  }
  std::string oneOf(const Node &node, const std::string &what, const std::vector<std::string> &words) {
    std::string word = string(node, what);
    if (error || std::find(words.begin(), words.end(), word) != words.end()) return word;
    std::string near = nearestWord(word, words);
    fail(node.line, what + " cannot be \"" + word + "\"", (near.empty() ? "" : "did you mean \"" + near + "\"? ") + "it is one of " + listed(words));
    return word;
  }
  std::vector<std::string> strings(const Node &node, const std::string &what) {
    std::vector<std::string> out;
    if (!expect(node, Kind::Array, what)) return out;
    for (const Node &element : node.elements) out.push_back(string(element, "an entry of " + what));
    return out;
  }
  bool flag(const Node &node, const std::string &what) { return expect(node, Kind::Boolean, what) && node.boolean; }
  int64_t integer(const Node &node, const std::string &what, int64_t least) {
    if (expect(node, Kind::Integer, what) && node.integer < least)
      fail(node.line, what + " is " + node.text + ", but must be at least " + std::to_string(least));
    return node.integer;
  }
  double number(const Node &node, const std::string &what) {
    if (node.kind != Kind::Integer && node.kind != Kind::Real) fail(node.line, what + " must be a number, but is " + describe(node.kind));
    return node.real;
  }
  /// An expression is a string, or a bare number.
  std::string expression(const Node &node, const std::string &what) {
    if (node.kind == Kind::Integer || node.kind == Kind::Real) return node.text;
    return string(node, what);
  }

  std::string file;
  Workload workload;
  std::optional<Error> error;
  std::vector<const Node *> argumentNodes, instanceNodes;
  std::vector<std::pair<std::string, int>> files; ///< Files named, with the line.
};

void Loader::document(const Node &root) {
  if (!expect(root, Kind::Object, "a workload")) return;
  const std::string what = "a workload";
  // A format of another revision may have other keys, so its name is looked at before they are.
  if (const Node *schema = required(root, "schema", what)) {
    if (expect(*schema, Kind::String, "\"schema\"") && schema->text != "klineage.workload/1")
      fail(schema->line, "the schema \"" + schema->text + "\" is unknown", "this version reads klineage.workload/1");
  }
  if (error) return;
  keys(root, what, {"schema", "name", "entry", "family", "sources", "include_folders", "rewrite_roots", "defines", "axes", "arguments",
                    "instances", "reference", "tolerance", "probes", "guessed"});
  if (error) return;
  if (const Node *node = required(root, "name", what)) workload.name = string(*node, "\"name\"");
  if (const Node *node = required(root, "entry", what)) workload.entry = identifier(*node, "\"entry\"");
  if (const Node *node = required(root, "family", what)) workload.family = oneOf(*node, "\"family\"", families());
  if (const Node *node = required(root, "sources", what)) {
    workload.sources = strings(*node, "\"sources\"");
    if (!error && workload.sources.empty()) fail(node->line, "\"sources\" is empty", "name the file with the launcher first");
    for (size_t i = 0; !error && i < workload.sources.size(); ++i) files.emplace_back(workload.sources[i], node->elements[i].line);
  }
  if (const Node *node = root.find("include_folders")) workload.includeFolders = strings(*node, "\"include_folders\"");
  if (const Node *node = root.find("rewrite_roots")) workload.rewriteRoots = strings(*node, "\"rewrite_roots\"");
  if (const Node *node = root.find("defines")) workload.defines = strings(*node, "\"defines\"");
  if (const Node *node = root.find("reference"); node && node->kind != Kind::Null) {
    workload.reference = string(*node, "\"reference\"");
    files.emplace_back(workload.reference, node->line);
  }
  if (const Node *node = root.find("tolerance"); node && !error) workload.tolerance = tolerance(*node, {});
  if (const Node *node = root.find("probes"); node && expect(*node, Kind::Array, "\"probes\""))
    for (const Node &probe : node->elements) workload.probes.push_back(oneOf(probe, "a probe", probeNames()));
  if (const Node *node = root.find("guessed")) workload.guessed = strings(*node, "\"guessed\"");
  if (const Node *node = required(root, "axes", what); node && !error) axesFrom(*node);
  if (const Node *node = required(root, "arguments", what); node && !error) argumentsFrom(*node);
  if (const Node *node = required(root, "instances", what); node && !error) instancesFrom(*node);
}

void Loader::axesFrom(const Node &node) {
  if (!expect(node, Kind::Array, "\"axes\"")) return;
  for (const Node &element : node.elements) {
    std::string axis;
    if (element.kind == Kind::Object) {
      keys(element, "an axis", {"name", "multiple_of"});
      if (const Node *name = required(element, "name", "an axis")) axis = identifier(*name, "an axis");
      if (const Node *multiple = element.find("multiple_of"); multiple && !error)
        workload.multiples[axis] = integer(*multiple, "\"multiple_of\"", 1);
    } else {
      axis = identifier(element, "an axis");
    }
    if (error) return;
    if (std::find(workload.axes.begin(), workload.axes.end(), axis) != workload.axes.end())
      return fail(element.line, "the axis \"" + axis + "\" is listed twice");
    workload.axes.push_back(axis);
  }
}

void Loader::argumentsFrom(const Node &node) {
  if (!expect(node, Kind::Array, "\"arguments\"")) return;
  bool writes = false;
  for (const Node &element : node.elements) {
    Argument made = argument(element);
    if (error) return;
    for (const Argument &other : workload.arguments)
      if (other.name == made.name) return fail(element.line, "two arguments are called \"" + made.name + "\"");
    writes |= made.kind == ArgumentKind::Output || made.kind == ArgumentKind::InOut;
    workload.arguments.push_back(std::move(made));
    argumentNodes.push_back(&element);
  }
  if (!writes) fail(node.line, "no argument is an output or inout", "a kernel that writes nothing cannot be checked");
}

Argument Loader::argument(const Node &node) {
  Argument made;
  if (!expect(node, Kind::Object, "an argument")) return made;
  if (const Node *name = required(node, "name", "an argument")) made.name = identifier(*name, "an argument's name");
  const std::string what = "argument \"" + made.name + "\"";
  if (const Node *kind = required(node, "kind", what); kind && !error) {
    std::string word = oneOf(*kind, "the kind of " + what, {"input", "output", "inout", "scalar", "scratch"});
    made.kind = word == "input" ? ArgumentKind::Input : word == "output" ? ArgumentKind::Output
              : word == "inout" ? ArgumentKind::InOut : word == "scalar" ? ArgumentKind::Scalar : ArgumentKind::Scratch;
  }
  if (error) return made;
  bool scalar = made.kind == ArgumentKind::Scalar;
  if (scalar) keys(node, "the scalar \"" + made.name + "\"", {"name", "kind", "type", "value"});
  else keys(node, what, {"name", "kind", "type", "shape", "fill", "alignment", "offset", "may_pad", "may_alias"});
  if (const Node *type = required(node, "type", what); type && !error) {
    std::string word = oneOf(*type, "the type of " + what, {"f32", "f64", "f16", "bf16", "i8", "u8", "i32", "u32", "i64", "u64"});
    if (!error) made.type = *elementTypeNamed(word);
  }
  if (error) return made;
  if (scalar) {
    if (const Node *value = required(node, "value", what)) made.value = expression(*value, "the value of " + what);
    return made;
  }
  if (const Node *shape = required(node, "shape", what); shape && expect(*shape, Kind::Array, "the shape of " + what))
    for (const Node &extent : shape->elements) made.shape.push_back(expression(extent, "an extent of " + what));
  if (const Node *node_ = node.find("fill"); node_ && !error) {
    if (made.kind == ArgumentKind::Output || made.kind == ArgumentKind::Scratch)
      fail(node_->line, what + " is not filled, for it is " + (made.kind == ArgumentKind::Output ? "an output" : "scratch"), "remove \"fill\", or make it inout");
    else made.fill = fill(*node_, made.type);
  }
  if (!isFloating(made.type) && !node.find("fill")) made.fill = {"integers", 0, 16};
  if (const Node *alignment = node.find("alignment"); alignment && !error) {
    int64_t bytes = integer(*alignment, "the alignment of " + what, 1);
    if (!error && (bytes > 4096 || (bytes & (bytes - 1)))) fail(alignment->line, "the alignment of " + what + " must be a power of two of at most 4096 bytes");
    made.alignment = unsigned(bytes);
  }
  if (const Node *offset = node.find("offset"); offset && !error) {
    int64_t elements = integer(*offset, "the offset of " + what, 0);
    if (elements > 4096) fail(offset->line, "the offset of " + what + " is more than 4096 elements");
    made.offset = unsigned(elements);
  }
  if (const Node *pad = node.find("may_pad")) made.mayPad = flag(*pad, "\"may_pad\" of " + what);
  if (const Node *alias = node.find("may_alias")) made.mayAlias = flag(*alias, "\"may_alias\" of " + what);
  return made;
}

Fill Loader::fill(const Node &node, ElementType type) {
  Fill made;
  if (!isFloating(type)) made = {"integers", 0, 16};
  // "fill": "ones" is short for {"kind": "ones"}.
  const Node *kind = &node;
  if (node.kind == Kind::Object) {
    keys(node, "a fill", {"kind", "low", "high"});
    kind = required(node, "kind", "a fill");
    if (const Node *low = node.find("low"); low && !error) made.low = number(*low, "\"low\" of a fill");
    if (const Node *high = node.find("high"); high && !error) made.high = number(*high, "\"high\" of a fill");
    if (!error && made.low > made.high) fail(node.line, "\"low\" of a fill is above its \"high\"");
    if (!error && !(std::fabs(made.low) < 0x1p53 && std::fabs(made.high) < 0x1p53)) fail(node.line, "the range of a fill is beyond 2^53");
  }
  if (error) return made;
  made.kind = oneOf(*kind, "the kind of a fill", fillKinds());
  static const std::set<std::string> floatingOnly = {"minus_infinity_first", "masked_row", "with_nan", "large_mean", "normal", "uniform"};
  if (!error && !isFloating(type) && floatingOnly.count(made.kind))
    fail(kind->line, "the fill \"" + made.kind + "\" needs a floating type, not " + name(type), "integers, zeros, ones and permutation fit");
  return made;
}

Tolerance Loader::tolerance(const Node &node, Tolerance from) {
  if (!expect(node, Kind::Object, "a tolerance")) return from;
  keys(node, "a tolerance", {"relative", "norm", "exact"});
  auto bound = [&](const char *key, double &into) {
    const Node *value = node.find(key);
    if (!value || error) return;
    into = number(*value, std::string("\"") + key + "\" of a tolerance");
    // At 1 an output of zeros would pass.
    if (!error && !(into > 0 && into < 0.5)) fail(value->line, std::string("\"") + key + "\" of a tolerance must lie between 0 and 0.5", "say \"exact\": true for no error at all");
  };
  bound("relative", from.relative);
  bound("norm", from.norm);
  if (const Node *exact = node.find("exact"); exact && !error) from.exact = flag(*exact, "\"exact\" of a tolerance");
  return from;
}

void Loader::instancesFrom(const Node &node) {
  if (!expect(node, Kind::Array, "\"instances\"")) return;
  bool checks = false;
  for (const Node &element : node.elements) {
    Instance made = instance(element);
    if (error) return;
    for (const Instance &other : workload.instances)
      if (other.name == made.name) return fail(element.line, "two instances are called \"" + made.name + "\"");
    checks |= made.check;
    workload.instances.push_back(std::move(made));
    instanceNodes.push_back(&element);
  }
  if (!checks) fail(node.line, "no instance has the role check or both", "without one nothing would be tested");
}

Instance Loader::instance(const Node &node) {
  Instance made;
  if (!expect(node, Kind::Object, "an instance")) return made;
  if (const Node *name = required(node, "name", "an instance")) made.name = string(*name, "an instance's name");
  const std::string what = "instance \"" + made.name + "\"";
  keys(node, what, {"name", "axes", "seed", "role", "devices", "sample_blocks", "fills", "tolerance"});
  if (const Node *axes = required(node, "axes", what); axes && !error) axisValues(*axes, made);
  if (const Node *seed = node.find("seed"); seed && !error) made.seed = uint64_t(integer(*seed, "the seed of " + what, 0));
  if (const Node *sample = node.find("sample_blocks"); sample && !error) {
    int64_t blocks = integer(*sample, "\"sample_blocks\" of " + what, 1);
    if (blocks > 1 << 20) fail(sample->line, "\"sample_blocks\" of " + what + " is above a million");
    made.sampleBlocks = unsigned(blocks);
  }
  if (const Node *role = required(node, "role", what); role && !error) {
    std::string word = oneOf(*role, "the role of " + what, {"check", "profile", "both"});
    made.check = word != "profile";
    made.profile = word != "check";
  }
  if (const Node *devices = node.find("devices"); devices && expect(*devices, Kind::Array, "the devices of " + what))
    for (const Node &device : devices->elements) made.devices.push_back(oneOf(device, "a device of " + what, {"emulated", "cuda"}));
  if (const Node *fills = node.find("fills"); fills && !error && expect(*fills, Kind::Object, "\"fills\" of " + what))
    for (const Node::Member &member : fills->members) {
      auto target = std::find_if(workload.arguments.begin(), workload.arguments.end(), [&](const Argument &a) { return a.name == member.key; });
      std::vector<std::string> filled;
      for (const Argument &a : workload.arguments)
        if (a.kind == ArgumentKind::Input || a.kind == ArgumentKind::InOut) filled.push_back(a.name);
      if (target == workload.arguments.end() || std::find(filled.begin(), filled.end(), member.key) == filled.end())
        fail(member.line, "\"" + member.key + "\" is no input that could be filled", "the inputs are " + listed(filled));
      else made.fills[member.key] = fill(member.value, target->type);
      if (error) break;
    }
  if (const Node *bound = node.find("tolerance"); bound && !error) made.tolerance = tolerance(*bound, workload.tolerance);
  return made;
}

void Loader::axisValues(const Node &node, Instance &into) {
  const std::string what = "instance \"" + into.name + "\"";
  if (!expect(node, Kind::Object, "\"axes\" of " + what)) return;
  keys(node, "the axes of " + what, workload.axes);
  for (const std::string &axis : workload.axes) {
    if (error) return;
    const Node *value = node.find(axis);
    if (!value) return fail(node.line, what + " gives no value for the axis \"" + axis + "\"");
    int64_t length = integer(*value, "the axis \"" + axis + "\" of " + what, 0);
    auto multiple = workload.multiples.find(axis);
    if (!error && multiple != workload.multiples.end() && length % multiple->second)
      return fail(value->line, "the axis \"" + axis + "\" of " + what + " is " + std::to_string(length) + ", not a multiple of " + std::to_string(multiple->second),
                  "change it, or the axis's \"multiple_of\"");
    into.axes[axis] = length;
  }
}

void Loader::instancesFit() {
  // Every shape and value is tried on every instance now, so that no later stage meets a bad expression. An error already says
  // which expression; the argument's line is where it stands.
  for (const Instance &instance : workload.instances)
    for (size_t i = 0; i < workload.arguments.size(); ++i) {
      const Argument &argument = workload.arguments[i];
      std::optional<Error> wrong;
      int line = argumentNodes[i]->line;
      if (argument.kind == ArgumentKind::Scalar) {
        line = argumentNodes[i]->find("value")->line;
        Workload one;
        one.arguments = {argument};
        if (Result<Inputs> made = makeInputs(one, instance, 1); !made) wrong = made.error();
      } else {
        const Node *shape = argumentNodes[i]->find("shape");
        line = shape->line;
        for (size_t d = 0; !wrong && d < argument.shape.size(); ++d)
          if (Result<int64_t> length = evaluate(argument.shape[d], instance.axes); !length) wrong = length.error(), line = shape->elements[d].line;
        if (!wrong)
          if (Result<Extent> extent = extentOf(argument, instance); !extent) wrong = extent.error();
      }
      if (wrong) return fail(line, "argument \"" + argument.name + "\": " + wrong->what, wrong->mend);
    }
}

void Loader::filesExist() {
  for (const auto &[name, line] : files) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(workload.folder / name, ignored))
      return fail(line, "there is no file \"" + name + "\" in the kernel folder", "paths are relative to the folder of workload.json");
  }
  for (const std::vector<std::string> *folders : {&workload.includeFolders, &workload.rewriteRoots})
    for (const std::string &folder : *folders)
      if (std::error_code ignored; !std::filesystem::is_directory(workload.folder / folder, ignored))
        return fail(1, "there is no folder \"" + folder + "\", which include_folders or rewrite_roots names");
}

} // namespace

const std::vector<std::string> &families() {
  static const std::vector<std::string> names = {"attention",  "convolution", "data_movement", "elementwise", "embedding", "matmul",
                                                 "quantization", "recurrence", "reduction",     "row_norm",    "scan",      "selection",
                                                 "stencil",    "other"};
  return names;
}

const std::vector<std::string> &fillKinds() {
  static const std::vector<std::string> names = {"uniform",  "normal", "integers", "large_mean", "minus_infinity_first", "masked_row",
                                                 "with_nan", "zeros",  "ones",     "permutation"};
  return names;
}

const std::vector<std::string> &probeNames() {
  static const std::vector<std::string> names = {"aliased", "block_shape", "infinite", "large_mean", "nan", "padded", "ragged", "unaligned"};
  return names;
}

Result<Workload> loadWorkload(const std::filesystem::path &folder) {
  std::filesystem::path file = folder / "workload.json";
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) return userError("there is no such kernel folder", folder.string(), "name a folder that holds a workload.json");
  if (!std::filesystem::is_regular_file(file, ignored))
    return userError("a kernel folder needs a workload.json", folder.string(), "klineage init writes one from a kernel's signature");
  return loadWorkloadFile(file);
}

Result<Workload> loadWorkloadFile(const std::filesystem::path &file) {
  std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  Result<std::string> text = readFile(file);
  if (!text) return text.error();
  Result<LocatedJson> root = parseLocatedJson(*text, file.string());
  if (!root) return root.error();
  Result<Workload> workload = Loader(folder.lexically_normal(), file.string()).load(*root);
  if (!workload) return workload;
  Hasher hasher;
  hasher.add("workload", *text);
  if (!workload->reference.empty()) {
    Result<std::string> reference = readFile(workload->folder / workload->reference);
    if (!reference) return reference.error();
    hasher.add("reference", *reference);
  } else if (!workload->sources.empty()) {
    // The kernel is its own oracle: when it changes, so does what the workload means.
    Result<std::string> own = readFile(workload->folder / workload->sources.front());
    if (!own) return own.error();
    hasher.add("self", *own);
  }
  workload->hash = hasher.hex();
  return workload;
}

} // namespace klineage
