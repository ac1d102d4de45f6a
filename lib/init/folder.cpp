// Writing the kernel folder: the sources, a launcher where one is missing, and workload.json with its guesses listed.
#include "init/init.h"
#include "init/shapes.h"
#include "support/files.h"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace klineage {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// One object a line, the way people keep such files.
std::string rows(const Json &array) {
  if (array.empty()) return "[]";
  std::string text = "[\n";
  for (size_t i = 0; i < array.size(); ++i) {
    // nlohmann's own one-line form has no spaces; two settings of dump() give either that or one value a line.
    std::string line = array[i].dump(1, ' ');
    std::string flat;
    bool inString = false;
    for (size_t c = 0; c < line.size(); ++c) {
      if (line[c] == '"' && (c == 0 || line[c - 1] != '\\')) inString = !inString;
      if (!inString && line[c] == '\n') {
        while (c + 1 < line.size() && line[c + 1] == ' ') ++c;
        if (!flat.empty() && flat.back() == ',') flat += ' ';
        continue;
      }
      flat += line[c];
    }
    text += "    " + flat + (i + 1 < array.size() ? ",\n" : "\n");
  }
  return text + "  ]";
}

/// Sizes of the instances a first version gets. Each axis gets its own, so that two of them are never mixed up unseen.
struct InstanceShape {
  const char *name, *role;
  int64_t sizes[4];
};
const InstanceShape instanceShapes[] = {
    {"aligned", "check", {64, 128, 32, 32}},
    {"ragged", "check", {37, 53, 29, 19}},
    {"tiny", "check", {2, 3, 2, 2}},
    {"off_by_one", "check", {33, 65, 17, 9}},
};
/// What the emulated device profiles, by the number of axes: about a million elements for two. With three the work is their product, and at sizes that
/// show what tiles are worth a spread sample of the blocks must do.
const int64_t profileSizes[5][4] = {{}, {1 << 20}, {512, 1024}, {512, 512, 256}, {16, 64, 64, 64}};
const int profileBlocks[5] = {0, 0, 0, 64, 0}; ///< sample_blocks; 0 is all.

class FolderWriter {
public:
  FolderWriter(const Signature &signature, const Observed &observed) : signature(signature), observed(observed) {}

  std::string workload();
  std::string launcher() const;
  std::string referenceSignature() const;
  std::vector<Guess> guesses;

private:
  void guess(std::string pointer, std::string text, bool mustFill = false) { guesses.push_back({std::move(pointer), std::move(text), mustFill}); }
  const ArgumentUse &useOf(const std::string &name) const {
    static const ArgumentUse none;
    auto found = observed.arguments.find(name);
    return found == observed.arguments.end() ? none : found->second;
  }
  Json argument(const SignatureParameter &parameter, const std::string &pointer);
  void chooseAxes();
  Json instances();

  const Signature &signature;
  const Observed &observed;
  std::vector<std::string> axes;
};

void FolderWriter::chooseAxes() {
  for (const SignatureParameter &parameter : signature.parameters)
    if (!parameter.pointer && !isFloating(parameter.type) && useOf(parameter.name).size) axes.push_back(parameter.name);
  for (const std::string &added : observed.plan.added) axes.push_back(added);
  // Nothing in sight uses a size: then every integer may be one.
  if (axes.empty())
    for (const SignatureParameter &parameter : signature.parameters)
      if (!parameter.pointer && !isFloating(parameter.type)) axes.push_back(parameter.name);
}

Json FolderWriter::argument(const SignatureParameter &parameter, const std::string &pointer) {
  Json made = {{"name", parameter.name}};
  bool axis = std::find(axes.begin(), axes.end(), parameter.name) != axes.end();
  if (!parameter.pointer) {
    made["kind"] = "scalar";
    made["type"] = name(parameter.type);
    made["value"] = axis ? Json(parameter.name) : isFloating(parameter.type) ? Json(0.5) : Json(1);
    if (!axis) guess(pointer + "/value", parameter.name + " is " + made["value"].dump() + " in every call");
    return made;
  }
  const ArgumentUse &use = useOf(parameter.name);
  std::string kind = parameter.constant ? "input" : !use.written && use.read ? "input" : use.read && use.written ? "inout" : "output";
  made["kind"] = kind;
  made["type"] = name(parameter.type);
  if (!parameter.constant)
    guess(pointer + "/kind", parameter.name + " is " + (kind == "input" ? "an input: it is only read" : kind == "inout" ? "an inout: it is read and written" : "an output: it is only written"));
  if (use.shape.empty()) {
    made["shape"] = {"fill_in"};
    guess(pointer + "/shape", "the shape of " + parameter.name + ": nothing in the kernel bounds its index", true);
  } else {
    made["shape"] = use.shape;
    std::string text;
    for (const std::string &extent : use.shape) text += (text.empty() ? "" : ", ") + extent;
    guess(pointer + "/shape", parameter.name + " has the shape [" + text + "]");
  }
  if (kind != "output" && !isFloating(parameter.type)) {
    // Small enough to be a valid index into anything that is not empty.
    made["fill"] = {{"kind", "integers"}, {"low", 0}, {"high", 1}};
    guess(pointer + "/fill", parameter.name + " holds zeros and ones");
  }
  return made;
}

Json FolderWriter::instances() {
  Json made = Json::array();
  auto add = [&](const char *name, const char *role, const int64_t *sizes) {
    Json values = Json::object();
    for (size_t a = 0; a < axes.size(); ++a) values[axes[a]] = a < 4 ? sizes[a] : 2;
    made.push_back({{"name", name}, {"axes", values}, {"role", role}});
  };
  for (const InstanceShape &shape : instanceShapes) add(shape.name, shape.role, shape.sizes);
  const size_t count = std::min<size_t>(axes.size(), 4);
  add("emulated_profile", "profile", profileSizes[count]);
  if (profileBlocks[count]) made.back()["sample_blocks"] = profileBlocks[count];
  made.back()["devices"] = {"emulated"};
  guess("/instances", "the sizes of the instances; where the kernel needs multiples, write the axis as {\"name\": ..., \"multiple_of\": ...}");
  return made;
}

std::string FolderWriter::workload() {
  chooseAxes();
  Json arguments = Json::array();
  std::vector<SignatureParameter> parameters = signature.parameters;
  for (const std::string &added : observed.plan.added) {
    SignatureParameter extra;
    extra.name = added;
    extra.type = ElementType::I32;
    parameters.push_back(extra);
  }
  for (size_t i = 0; i < parameters.size(); ++i) arguments.push_back(argument(parameters[i], "/arguments/" + std::to_string(i)));
  guess("/family", "the family, other; docs/families.md lists them");
  guess("/tolerance", "the tolerance, which should follow from the type and the depth of the sums");
  Json all = instances();
  if (!signature.launcher) guess("kernel.cu", "the grid and block of " + signature.entry);
  Json guessed = Json::array();
  for (const Guess &one : guesses) guessed.push_back(one.pointer);
  std::string text = "{\n  \"schema\": \"klineage.workload/1\",\n";
  text += "  \"name\": " + Json(signature.entry).dump() + ",\n  \"entry\": " + Json(signature.entry).dump() + ",\n";
  text += "  \"family\": \"other\",\n  \"sources\": [\"kernel.cu\"],\n";
  text += "  \"axes\": " + Json(axes).dump() + ",\n";
  text += "  \"arguments\": " + rows(arguments) + ",\n  \"instances\": " + rows(all) + ",\n";
  text += "  \"tolerance\": {\"relative\": 1e-4, \"norm\": 1e-5},\n  \"probes\": [],\n";
  text += "  \"guessed\": " + guessed.dump() + "\n}\n";
  return text;
}

std::string FolderWriter::launcher() const {
  std::string parameters, arguments;
  for (const SignatureParameter &parameter : signature.parameters) {
    bool star = !parameter.spelling.empty() && parameter.spelling.back() == '*';
    parameters += parameter.spelling + (star ? "" : " ") + parameter.name + ", ";
    arguments += (arguments.empty() ? "" : ", ") + parameter.name;
  }
  for (const std::string &added : observed.plan.added) parameters += "int " + added + ", ";
  auto dimensions = [](const std::string (&parts)[3]) {
    std::string text;
    for (const std::string &part : parts)
      if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
    return text;
  };
  return "\n// Grid and block are guessed: check them.\nextern \"C\" void " + signature.entry + "(" + parameters + "cudaStream_t stream) {\n" +
         "  const dim3 grid(" + dimensions(observed.plan.grid) + ");\n  const dim3 block(" + dimensions(observed.plan.block) + ");\n" +
         "  " + signature.kernel->getQualifiedNameAsString() + "<<<grid, block, 0, stream>>>(" + arguments + ");\n}\n";
}

std::string FolderWriter::referenceSignature() const {
  std::string parameters;
  auto add = [&](const std::string &text) { parameters += (parameters.empty() ? "" : ", ") + text; };
  for (const SignatureParameter &parameter : signature.parameters) {
    if (!parameter.pointer) add((isFloating(parameter.type) ? "double " : "long long ") + parameter.name);
    else add((parameter.constant || !useOf(parameter.name).written ? "const double *" : "double *") + parameter.name);
  }
  for (const std::string &added : observed.plan.added) add("long long " + added);
  return "extern \"C\" void reference(" + parameters + ")";
}

/// Headers beside the file, or below its folder, that it includes; they move with it.
Result<std::set<std::string>> localHeaders(const Unit &unit, const fs::path &file) {
  std::set<std::string> headers;
  fs::path root = file.parent_path();
  const clang::SourceManager &manager = unit.manager(Side::Host);
  for (auto entry = manager.fileinfo_begin(); entry != manager.fileinfo_end(); ++entry) {
    fs::path path = fs::path(entry->first.getName().str()).lexically_normal();
    if (path.is_relative()) continue;
    std::string relative = path.lexically_relative(root).string();
    if (path == file || relative.empty() || relative.rfind("..", 0) == 0) continue;
    headers.insert(relative);
  }
  return headers;
}

bool usesDynamicShared(const Unit &unit, const clang::FunctionDecl *kernel) {
  std::string body = unit.text(kernel->getSourceRange(), Side::Host);
  return body.find("extern __shared__") != std::string::npos;
}

} // namespace

Result<InitReport> initKernel(const InitRequest &request) {
  std::error_code failed;
  fs::path file = fs::absolute(request.file).lexically_normal();
  if (!fs::is_regular_file(file, failed)) return userError("there is no such file", request.file.string(), "name a CUDA source file");
  Result<std::string> text = readFile(file);
  if (!text) return text.error();
  SourceSet sources;
  sources.mainFile = file.string();
  sources.files[sources.mainFile] = *text;
  sources.includeFolders = {file.parent_path().string()};
  auto unit = Unit::parse(sources);
  if (!unit) return unit.error();
  auto signature = readSignature(**unit, request.kernel);
  if (!signature) return signature.error();
  if (!signature->launcher && usesDynamicShared(**unit, signature->kernel))
    return userError("\"" + signature->entry + "\" uses dynamic shared memory and has no extern \"C\" launcher",
                     (*unit)->where(signature->kernel->getLocation(), Side::Host), "write the launcher: only you know how many bytes it needs");
  Observed observed = observe(**unit, *signature);

  InitReport report;
  report.folder = request.out.empty() ? fs::path(signature->entry) : request.out;
  report.entry = signature->entry;
  report.wroteLauncher = !signature->launcher;
  if (fs::exists(report.folder / "workload.json", failed))
    return userError("the folder has a workload.json already", report.folder.string(), "name another with --out, or remove it");
  if (fs::exists(report.folder / "kernel.cu", failed) && !fs::equivalent(report.folder / "kernel.cu", file, failed))
    return userError("the folder has another kernel.cu already", report.folder.string(), "name another folder with --out");

  FolderWriter writer(*signature, observed);
  std::string workload = writer.workload();
  report.referenceSignature = writer.referenceSignature();
  report.guesses = writer.guesses;
  fs::create_directories(report.folder, failed);
  if (failed) return userError("cannot make the folder: " + failed.message(), report.folder.string());
  auto headers = localHeaders(**unit, file);
  if (!headers) return headers.error();
  std::map<std::string, std::string> contents;
  contents["kernel.cu"] = *text + (report.wroteLauncher ? writer.launcher() : "");
  contents["workload.json"] = workload;
  for (const std::string &header : *headers) {
    auto content = readFile(file.parent_path() / header);
    if (!content) return content.error();
    contents[header] = *content;
  }
  for (const auto &[name, content] : contents) {
    fs::create_directories((report.folder / name).parent_path(), failed);
    if (Status written = writeFile(report.folder / name, content); !written) return written.error();
    report.files.push_back(name);
  }
  return report;
}

} // namespace klineage
