#include "source/front_end.h"
#include "clang/Basic/Version.h"
#include <filesystem>
#include <fstream>

namespace klineage {

Result<FrontEndFacts> probeFrontEnd() {
  namespace fs = std::filesystem;
  FrontEndFacts facts;
  facts.clangVersion = clang::getClangFullVersion();
  facts.resourceFolder = resourceFolder();
  facts.cudaFolder = cudaFolder();
  if (CLANG_VERSION_MAJOR != KLINEAGE_LLVM_MAJOR)
    return userError("klineage was built for Clang " + std::to_string(KLINEAGE_LLVM_MAJOR) + " and runs on " + facts.clangVersion, {},
                     "install clang-22 and build again");
  if (!fs::exists(fs::path(facts.resourceFolder) / "include" / "__clang_cuda_runtime_wrapper.h"))
    return userError("Clang's own headers are not at " + facts.resourceFolder, {}, "install libclang-common-22-dev, or set KLINEAGE_RESOURCE_DIR");
  std::ifstream cuda(fs::path(facts.cudaFolder) / "include" / "cuda.h");
  std::string line;
  while (std::getline(cuda, line))
    if (line.rfind("#define CUDA_VERSION ", 0) == 0) facts.cudaVersion = line.substr(21);
  if (facts.cudaVersion.empty())
    return userError("no CUDA Toolkit at " + facts.cudaFolder, {}, "set CUDA_PATH to a CUDA " + std::to_string(KLINEAGE_CUDA_MAJOR) + " toolkit");
  if (std::atoi(facts.cudaVersion.c_str()) / 1000 != KLINEAGE_CUDA_MAJOR)
    return userError("CUDA " + facts.cudaVersion + " at " + facts.cudaFolder + ", klineage needs CUDA " + std::to_string(KLINEAGE_CUDA_MAJOR), {},
                     "set CUDA_PATH");
  SourceSet three;
  three.mainFile = "/klineage/probe.cu";
  three.files[three.mainFile] = "__global__ void probe(float *x) { x[threadIdx.x] = __expf(x[threadIdx.x]); }\n"
                                "extern \"C\" void launch(float *x, cudaStream_t stream) {\n"
                                "  probe<<<1, 32, 0, stream>>>(x); }\n";
  auto unit = Unit::parse(three);
  if (!unit) return userError("Clang cannot parse a three-line kernel: " + unit.error().message(), {}, "run klineage doctor");
  return facts;
}

} // namespace klineage
