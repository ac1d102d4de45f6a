// Parses a snippet and lifts it; shared by the tests of the model room.
#pragma once
#include "model/kernel_model.h"
#include <gtest/gtest.h>

namespace klineage {

struct Lifted {
  std::unique_ptr<Unit> unit;
  std::vector<KernelModel> kernels;
  const KernelModel &kernel() const { return kernels.at(0); }

  /// The n-th access of the buffer of this name.
  const Access &access(const std::string &name, unsigned n = 0) const {
    for (const Access &access : kernel().accesses)
      if (access.buffer && access.buffer->getNameAsString() == name && n-- == 0) return access;
    static const Access none;
    ADD_FAILURE() << "no such access of " << name;
    return none;
  }
};

inline Lifted liftText(std::string text) {
  SourceSet sources;
  sources.mainFile = "/kernels/test/kernel.cu";
  sources.files[sources.mainFile] = "#include <cuda_runtime.h>\n" + std::move(text);
  auto unit = Unit::parse(sources);
  Lifted lifted;
  if (!unit) {
    ADD_FAILURE() << unit.error().message();
    return lifted;
  }
  lifted.unit = std::move(*unit);
  lifted.kernels = liftKernels(*lifted.unit);
  EXPECT_FALSE(lifted.kernels.empty());
  return lifted;
}

/// The kernel's text around one body, with a launch of `block` threads.
inline Lifted liftBody(const std::string &body, const std::string &block = "256", const std::string &before = "") {
  return liftText(before + "\n__global__ void kernel(const float *a, float *c, int n, int m) {\n" + body +
                  "\n}\nextern \"C\" void launch(const float *a, float *c, int n, int m, cudaStream_t stream) {\n  kernel<<<(n + 255) / 256, " + block +
                  ", 0, stream>>>(a, c, n, m);\n}\n");
}

inline IndexExpr axis(AtomRef atom) { return IndexExpr::of(std::move(atom)); }

} // namespace klineage
