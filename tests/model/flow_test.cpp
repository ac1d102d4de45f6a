#include "model/flow.h"
#include "tests/model/model_fixture.h"

using namespace klineage;

namespace {

/// What the n-th read of the buffer sees, spelled; or the refusal.
std::string seen(const Lifted &lifted, const std::string &buffer, unsigned n = 0) {
  for (const Buffer &known : lifted.kernel().buffers) {
    if (known.decl->getNameAsString() != buffer) continue;
    StagingFlow flow(lifted.kernel(), known.decl);
    auto reads = flow.reads();
    if (n >= reads.size()) return "no such read";
    auto source = flow.seenBy(*reads[n]);
    if (!source) return source.error().what.substr(0, source.error().what.find(':'));
    std::string text = source->buffer->getNameAsString() + "[" + lifted.kernel().spelled(source->index).value_or("?") + "]";
    for (const Comparison &guard : source->guards) text += " if " + spelled(lifted.kernel(), guard).value_or("?");
    return text + (source->proved ? "" : " unproved");
  }
  return "no such buffer";
}

struct Case {
  const char *what, *body, *block, *expected;
};

TEST(StagingFlow, AReadOfASharedTileSeesTheElementThatWasCopied) {
  for (const Case &one : std::initializer_list<Case>{
           {"tile by two thread indices",
            "__shared__ float s[32][32]; for (int k = 0; k < n; k += 32) { s[threadIdx.y][threadIdx.x] = a[(blockIdx.y * 32 + threadIdx.y) * n + k + threadIdx.x]; __syncthreads();"
            " for (int j = 0; j < 32; ++j) c[threadIdx.x] += s[threadIdx.y][j]; __syncthreads(); }",
            "dim3(32, 32)", "a[blockIdx.y * n * 32 + n * threadIdx.y + j + k]"},
           {"padded and transposed, one flat array",
            "__shared__ float s[32 * 33]; s[threadIdx.y * 33 + threadIdx.x] = a[threadIdx.y * n + threadIdx.x]; __syncthreads(); c[threadIdx.x] = s[threadIdx.x * 33 + threadIdx.y];",
            "dim3(32, 32)", "a[n * threadIdx.x + threadIdx.y]"},
           {"flattened thread split in two",
            "__shared__ float s[16][16]; int t = threadIdx.x; s[t / 16][t % 16] = a[(t >> 4) * n + (t & 15)]; __syncthreads(); c[t] = s[t % 16][3];",
            "256", "a[(threadIdx.x % 16) * n + 3]"},
           {"copy loop over rows",
            "__shared__ float s[32][32]; for (int r = 0; r < 32; r += 8) s[threadIdx.y + r][threadIdx.x] = a[(threadIdx.y + r) * n + threadIdx.x]; __syncthreads(); c[threadIdx.x] = s[threadIdx.x][threadIdx.y];",
            "dim3(32, 8)", "a[n * threadIdx.x + threadIdx.y]"},
           {"flat copy loop", "__shared__ float s[64][16]; for (int i = threadIdx.x; i < 1024; i += 256) s[i / 16][i % 16] = a[(i / 16) * n + i % 16]; __syncthreads(); c[threadIdx.x] = s[threadIdx.x % 64][5];",
            "256", "a[(threadIdx.x % 64) * n + 5]"},
           {"swizzle", "__shared__ float s[32][32]; s[threadIdx.y][threadIdx.x ^ threadIdx.y] = a[threadIdx.y * n + threadIdx.x]; __syncthreads(); c[threadIdx.x] = s[threadIdx.x][threadIdx.y ^ threadIdx.x];",
            "dim3(32, 32)", "a[n * threadIdx.x + threadIdx.y]"},
           {"wide load spread over a column",
            "__shared__ float s[8][33]; float4 v = reinterpret_cast<const float4 *>(a)[threadIdx.x]; int r = threadIdx.x / 2, q = threadIdx.x % 2 * 4; s[q][r] = v.x; s[q + 1][r] = v.y; s[q + 2][r] = v.z; s[q + 3][r] = v.w; __syncthreads(); c[threadIdx.x] = s[threadIdx.x % 8][threadIdx.x / 8];",
            "64", "a[threadIdx.x]"},
           {"zero fill", "__shared__ float s[256]; s[threadIdx.x] = threadIdx.x < n ? a[threadIdx.x] : 0.f; __syncthreads(); c[0] = s[255 - threadIdx.x];",
            "256", "a[255 - threadIdx.x] if 255 < n + threadIdx.x"},
           {"computed", "__shared__ float s[256]; s[threadIdx.x] = a[threadIdx.x] * 2; __syncthreads(); c[0] = s[1];", "256", "not_a_copy"},
           {"no barrier", "__shared__ float s[256]; s[threadIdx.x] = a[threadIdx.x]; c[0] = s[1];", "256", "no_barrier"},
       }) {
    auto lifted = liftBody(one.body, one.block);
    EXPECT_EQ(seen(lifted, "s"), one.expected) << one.what;
  }
}

TEST(StagingFlow, OfTwoStagesEachReadSeesTheIterationBefore) {
  auto lifted = liftBody("__shared__ float s[2][256]; s[0][threadIdx.x] = a[threadIdx.x]; __syncthreads();"
                         "for (int k = 0; k < n; ++k) { if (k + 1 < n) s[(k + 1) % 2][threadIdx.x] = a[(k + 1) * 256 + threadIdx.x]; c[k] += s[k % 2][255 - threadIdx.x]; __syncthreads(); }");
  EXPECT_EQ(seen(lifted, "s"), "a[k * 256 + 255 - threadIdx.x]");
}

} // namespace
