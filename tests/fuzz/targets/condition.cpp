// Conditions: every text is a condition or a user error; and a condition has an answer with its reason, on a kernel of which little is known.
#include "tests/fuzz/fuzz.h"
#include "facts/condition.h"
#include "source/unit.h"

namespace klineage::fuzz {
namespace {

struct Scene {
  std::unique_ptr<Unit> unit;
  std::vector<KernelModel> kernels;
  Environment environment;
  FactBindings bindings;

  Scene() {
    SourceSet set;
    set.mainFile = "/klineage-fuzz/kernel.cu";
    set.files[set.mainFile] = "__global__ void k(const float *row, float *out, int n) {\n"
                              "  __shared__ float tile[64];\n"
                              "  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i % 64] = row[i];\n"
                              "  __syncthreads();\n"
                              "  out[blockIdx.x] = tile[threadIdx.x];\n"
                              "}\n"
                              "extern \"C\" void launch(const float *row, float *out, int n) { k<<<4, 64>>>(row, out, n); }\n";
    auto parsed = Unit::parse(set);
    promise(bool(parsed), "the scene does not parse");
    unit = std::move(*parsed);
    kernels = liftKernels(*unit);
    promise(!kernels.empty(), "the scene has no kernel");
    environment.arguments = {{"row", true, 16, {128, 131}}, {"out", true, 4, {4, 4}}, {"n", false, 0, {128, 131}}};
    environment.relativeTolerance = 1e-5;
    const clang::FunctionDecl *function = unit->kernels().front();
    bindings = {{"row", static_cast<const clang::ValueDecl *>(function->getParamDecl(0))},
                {"out", static_cast<const clang::ValueDecl *>(function->getParamDecl(1))},
                {"n", static_cast<const clang::ValueDecl *>(function->getParamDecl(2))},
                {"width", int64_t(4)}, {"place", std::string("between")}, {"body", static_cast<const clang::Stmt *>(function->getBody())}};
  }
};

} // namespace

void condition(std::string_view bytes) {
  auto parsed = Condition::parse(bytes);
  if (!parsed) {
    promise(parsed.error().fault == Fault::User, "a condition's fault is told as ours: " + parsed.error().message());
    return;
  }
  static const Scene scene;
  Answer answer = parsed->evaluate({scene.kernels.front(), scene.environment, scene.bindings});
  promise(!answer.why.empty(), "an answer without its reason");
}

} // namespace klineage::fuzz
