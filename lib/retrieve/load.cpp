#include "retrieve/load.h"
#include "gate/environment_of.h"
#include "gate/gate.h"
#include "support/files.h"
#include <iostream>
#include <iterator>

namespace klineage {

Result<NamedCode> loadCode(const std::string &name, unsigned sm) {
  namespace fs = std::filesystem;
  NamedCode code;
  code.environment.device.sm = sm;
  if (name == "-") {
    std::string path = (fs::current_path() / "standard_input.cu").string();
    code.sources.mainFile = path;
    std::string text(std::istreambuf_iterator<char>(std::cin), {});
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) return userError("standard input holds no code", "-", "give it a kernel or a piece of one");
    code.sources.files[path] = std::move(text);
    return code;
  }
  fs::path path = fs::absolute(name).lexically_normal();
  if (fs::is_directory(path)) return userError("this is a folder", name, "name a CUDA file in it");
  auto text = readFile(path);
  if (!text) return text.error();
  if (text->find_first_not_of(" \t\r\n") == std::string::npos) return userError("the file holds no code", name, "name a kernel or a piece of one");
  if (fs::exists(path.parent_path() / "workload.json")) {
    auto workload = loadWorkload(path.parent_path());
    if (!workload) return workload.error();
    if (auto sources = loadSources(*workload); sources && sources->files.count(path.string())) {
      code.sources = *std::move(sources);
      code.environment = environmentOf(*workload, "emulated", sm);
      code.hasWorkload = true;
      return code;
    }
    // A variant of the kernel that the workload does not list: the same launcher is called in the same way.
    if (text->find(workload->entry) != std::string::npos) {
      code.environment = environmentOf(*workload, "emulated", sm);
      code.hasWorkload = true;
    }
  }
  code.sources.mainFile = path.string();
  code.sources.files[path.string()] = *std::move(text);
  return code;
}

} // namespace klineage
