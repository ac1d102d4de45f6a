// The bridge between the gate, which calls any reference the same way, and references, which have readable parameters.
#include "workload/workload.h"

namespace klineage {

std::string referenceCaller(const Workload &workload) {
  std::string call;
  for (size_t i = 0; i < workload.arguments.size(); ++i) {
    const Argument &argument = workload.arguments[i];
    if (argument.kind == ArgumentKind::Scratch) continue;
    std::string slot = "arguments[" + std::to_string(i) + "]";
    const char *type = isFloating(argument.type) ? "double" : "long long";
    if (!call.empty()) call += ",\n            ";
    if (argument.kind == ArgumentKind::Scalar) call += "*static_cast<const " + std::string(type) + " *>(" + slot + ")";
    else if (argument.kind == ArgumentKind::Input) call += "static_cast<const double *>(" + slot + ")";
    else call += "static_cast<double *>(" + slot + ")";
  }
  std::string path;
  for (char c : (workload.folder / workload.reference).string()) {
    if (c == '\\' || c == '"') path += '\\';
    path += c;
  }
  return "#include \"" + path + "\"\n\nextern \"C\" void klineage_reference(void *const *arguments) {\n  reference(" + call + ");\n}\n";
}

} // namespace klineage
