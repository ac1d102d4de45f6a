// workload.json: every text is a workload or a user error; and a workload can be asked for its extents, its inputs and its reference's caller.
#include "tests/fuzz/fuzz.h"
#include "support/files.h"
#include "workload/workload.h"

namespace klineage::fuzz {
namespace {

/// A kernel folder with the files that most workloads name.
const std::filesystem::path &kernelFolder() {
  static const ScratchFolder folder;
  static const bool made = [] {
    for (const char *file : {"kernel.cu", "reference.cpp"}) promise(bool(writeFile(folder.path() / file, "// nothing\n")), "cannot write");
    return true;
  }();
  (void)made;
  return folder.path();
}

constexpr size_t elementsAtMost = 1 << 12;

bool isSmall(const Workload &workload, const Instance &instance) {
  for (const Argument &argument : workload.arguments) {
    if (argument.kind == ArgumentKind::Scalar) continue;
    auto extent = extentOf(argument, instance);
    promise(bool(extent), "a workload that was read has a shape that cannot be evaluated");
    if (extent->count > elementsAtMost) return false;
  }
  return true;
}

} // namespace

void workload_json(std::string_view bytes) {
  std::filesystem::path file = kernelFolder() / "workload.json";
  promise(bool(writeFile(file, bytes)), "cannot write the workload");
  auto workload = loadWorkloadFile(file);
  if (!workload) {
    promise(workload.error().fault == Fault::User, "a workload's fault is told as ours: " + workload.error().message());
    promise(!workload.error().what.empty(), "an error without words");
    return;
  }
  promise(!referenceCaller(*workload).empty(), "no caller");
  for (const Instance &instance : workload->instances) {
    if (!isSmall(*workload, instance)) continue;
    auto inputs = makeInputs(*workload, instance, instance.seed);
    promise(bool(inputs), "a workload that was read has inputs that cannot be made");
    promise(inputs->arguments.size() == workload->arguments.size(), "an argument without its bytes");
  }
}

} // namespace klineage::fuzz
