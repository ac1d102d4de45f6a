// Programs that must come out right on the emulated device: the features that expert kernels use.
#include "candidate.h"
#include <cmath>

using namespace klineage;

TEST(EmulatedPrograms, HalfAndBfloatArithmeticRoundsAsTheHardwareDoes) {
  Candidate c(R"(
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void k(const float *in, float *out, int n) {
  int i = threadIdx.x;
  __half2 h = __floats2half2_rn(in[2 * i], in[2 * i + 1]);
  h = __hfma2(h, h, __float2half2_rn(0.5f));
  __nv_bfloat16 b = __float2bfloat16(in[i]);
  out[2 * i] = __low2float(h) + __bfloat162float(b);
  out[2 * i + 1] = __half2float(__hmax(__high2half(h), __float2half(0.75f)));
}
extern "C" void launch(const float *in, float *out, int n) { k<<<1, n / 2>>>(in, out, n); }
)");
  c.in("in").out("out").size(64);
  RunOutcome outcome = c.run();
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  auto in = c.given<float>(0), out = Candidate::elements<float>(outcome.outputs[1]);
  auto half = [](double v) { return fromHalf(toHalf(v)); };
  for (int i = 0; i < 32; ++i) {
    double low = half(half(in[2 * i]) * half(in[2 * i]) + 0.5), high = half(half(in[2 * i + 1]) * half(in[2 * i + 1]) + 0.5);
    EXPECT_EQ(out[2 * i], float(low) + float(fromBFloat16(toBFloat16(in[i]))));
    EXPECT_EQ(out[2 * i + 1], float(std::max(high, 0.75)));
  }
}

TEST(EmulatedPrograms, AsyncCopiesLandAtTheirWait) {
  std::string text = R"(
__device__ __forceinline__ void copy16(void *to, const void *from, int bytes) {
  unsigned s = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(s), "l"(from), "r"(bytes));
}
__global__ void k(const float *in, float *out, int tiles) {
  __shared__ float buf[2][128];
  copy16(&buf[0][threadIdx.x * 4], in + threadIdx.x * 4, 16);
  asm volatile("cp.async.commit_group;\n" ::);
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) copy16(&buf[(t + 1) & 1][threadIdx.x * 4], in + (t + 1) * 128 + threadIdx.x * 4, 16);
    asm volatile("cp.async.commit_group;\n" ::);
    WAIT
    __syncthreads();
    for (int j = 0; j < 4; ++j) out[t * 128 + threadIdx.x * 4 + j] = buf[t & 1][127 - (threadIdx.x * 4 + j)];
    __syncthreads();
  }
}
extern "C" void launch(const float *in, float *out, int n) { k<<<1, 32>>>(in, out, n / 128); }
)";
  for (bool waits : {true, false}) {
    std::string source = text;
    source.replace(source.find("WAIT"), 4, waits ? "asm volatile(\"cp.async.wait_group %0;\\n\" ::\"n\"(1));" : "");
    Candidate c(source);
    c.in("in").out("out").size(128 * 5);
    RunOutcome outcome = c.run();
    if (!waits) {
      EXPECT_NE(outcome.reason, Reason::None);
      continue;
    }
    ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
    auto in = c.given<float>(0), out = Candidate::elements<float>(outcome.outputs[1]);
    for (int i = 0; i < 640; ++i)
      ASSERT_EQ(out[i], in[i / 128 * 128 + 127 - i % 128]);
  }
}

TEST(EmulatedPrograms, MatrixUnitMultipliesAsPtxLaysFragmentsOut) {
  Candidate c(R"(
#include <cuda_fp16.h>
__global__ void k(const __half *a, const __half *b, float *out) {
  __shared__ __half sa[16][16], sb[16][8];
  for (int i = threadIdx.x; i < 256; i += 32) sa[i / 16][i % 16] = a[i];
  for (int i = threadIdx.x; i < 128; i += 32) sb[i / 8][i % 8] = b[i];
  __syncthreads();
  unsigned x[4], y[2];
  unsigned pa = (unsigned)__cvta_generic_to_shared(&sa[threadIdx.x % 16][threadIdx.x / 16 * 8]);
  unsigned pb = (unsigned)__cvta_generic_to_shared(&sb[threadIdx.x % 16][0]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(pa));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(y[0]), "=r"(y[1]) : "r"(pb));
  float d[4] = {1, 1, 1, 1};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  int row = threadIdx.x / 4, column = threadIdx.x % 4 * 2;
  out[row * 8 + column] = d[0];
  out[row * 8 + column + 1] = d[1];
  out[(row + 8) * 8 + column] = d[2];
  out[(row + 8) * 8 + column + 1] = d[3];
}
extern "C" void launch(const __half *a, const __half *b, float *out, int n) { k<<<1, 32>>>(a, b, out); }
)");
  c.in("a", ElementType::F16, "256", {"integers", -4, 4}).in("b", ElementType::F16, "128", {"integers", -4, 4}).out("out", ElementType::F32, "128").size(1);
  RunOutcome outcome = c.run();
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  auto a = c.given<uint16_t>(0), b = c.given<uint16_t>(1);
  auto out = Candidate::elements<float>(outcome.outputs[2]);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      double sum = 1;
      for (int k = 0; k < 16; ++k)
        sum += fromHalf(a[i * 16 + k]) * fromHalf(b[k * 8 + j]);
      EXPECT_EQ(out[i * 8 + j], float(sum)) << i << "," << j;
    }
}

TEST(EmulatedPrograms, WarpMatrixFragmentsMultiplyAndAccumulate) {
  Candidate c(R"(
#include <mma.h>
using namespace nvcuda;
__global__ void k(const __half *a, const __half *b, float *out) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> y;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 2.0f);
  for (int t = 0; t < 2; ++t) {
    wmma::load_matrix_sync(x, a + t * 16, 32);
    wmma::load_matrix_sync(y, b + t * 16, 32);
    wmma::mma_sync(sum, x, y, sum);
  }
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] *= 0.5f;
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}
extern "C" void launch(const __half *a, const __half *b, float *out, int n) { k<<<1, 32>>>(a, b, out); }
)");
  c.in("a", ElementType::F16, "512", {"integers", -4, 4}).in("b", ElementType::F16, "512", {"integers", -4, 4}).out("out", ElementType::F32, "256").size(1);
  RunOutcome outcome = c.run();
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  auto a = c.given<uint16_t>(0), b = c.given<uint16_t>(1);
  auto out = Candidate::elements<float>(outcome.outputs[2]);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      double sum = 2;
      for (int k = 0; k < 32; ++k)
        sum += fromHalf(a[i * 32 + k]) * fromHalf(b[j * 32 + k]);
      EXPECT_EQ(out[i * 16 + j], float(sum / 2)) << i << "," << j;
    }
}

TEST(EmulatedPrograms, CooperativeGroupsSyncAndReduce) {
  Candidate c(R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(const float *in, float *out) {
  __shared__ float s[128];
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  float v = in[block.thread_rank()];
  for (int o = tile.size() / 2; o > 0; o /= 2) v += tile.shfl_down(v, o);
  if (tile.thread_rank() == 0) s[block.thread_rank() / 16] = v;
  block.sync();
  if (block.thread_rank() < 8) out[block.thread_rank()] = s[block.thread_rank()];
}
extern "C" void launch(const float *in, float *out, int n) { k<<<1, 128>>>(in, out); }
)");
  c.in("in", ElementType::F32, "n", {"integers", -8, 8}).out("out", ElementType::F32, "8").size(128);
  RunOutcome outcome = c.run();
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  auto in = c.given<float>(0), out = Candidate::elements<float>(outcome.outputs[1]);
  for (int t = 0; t < 8; ++t) {
    float sum = 0;
    for (int i = 0; i < 16; ++i)
      sum += in[t * 16 + i];
    EXPECT_EQ(out[t], sum);
  }
}

TEST(EmulatedPrograms, AtomicsOverBlocksTemplatesConstantsAndPrintf) {
  Candidate c(R"(
#include <cstdio>
#include <cuda_runtime.h>
__constant__ int weight[4];
template <int BINS> __global__ void histogram(const int *in, int *out, int n) {
  __shared__ int bins[BINS];
  for (int i = threadIdx.x; i < BINS; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[in[i] & (BINS - 1)], weight[in[i] & 3]);
  if (i == 0) printf("%d of %s\n", n, "elements");
  __syncthreads();
  for (int i = threadIdx.x; i < BINS; i += blockDim.x) atomicAdd(&out[i], bins[i]);
}
extern "C" int launch(const int *in, int *out, int n) {
  int w[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(weight, w, sizeof w);
  cudaMemset(out, 0, 16 * sizeof(int));
  histogram<16><<<(n + 63) / 64, 64>>>(in, out, n);
  return cudaGetLastError();
}
)");
  c.in("in", ElementType::I32, "n", {"integers", 0, 15}).out("out", ElementType::I32, "16").size(300);
  RunOutcome outcome = c.run();
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  auto in = c.given<int>(0), out = Candidate::elements<int>(outcome.outputs[1]);
  std::vector<int> expected(16);
  for (int v : in)
    expected[size_t(v & 15)] += (v & 3) + 1;
  EXPECT_EQ(out, expected);
}

TEST(EmulatedPrograms, MathFunctionsAgreeWithTheHost) {
  Candidate c(R"(
__global__ void k(const float *in, float *out, int n) {
  int i = threadIdx.x;
  float x = in[i];
  out[i] = expf(x) + rsqrtf(x + 2) * tanhf(x) + __expf(x) + log1pf(x * x) + fmaxf(x, 0.25f) + powf(x + 2, 1.5f) + erff(x) + rintf(4 * x) + (float)__popc(i);
}
extern "C" void launch(const float *in, float *out, int n) { k<<<1, n>>>(in, out, n); }
)");
  c.in("in").out("out").size(64);
  RunOutcome outcome = c.run();
  ASSERT_EQ(outcome.reason, Reason::None) << outcome.detail;
  auto in = c.given<float>(0), out = Candidate::elements<float>(outcome.outputs[1]);
  for (int i = 0; i < 64; ++i) {
    double x = in[i];
    double expected = 2 * std::exp(x) + std::tanh(x) / std::sqrt(x + 2) + std::log1p(x * x) + std::max(x, 0.25) + std::pow(x + 2, 1.5) + std::erf(x) +
                      std::nearbyint(4 * x) + __builtin_popcount(unsigned(i));
    EXPECT_NEAR(out[i], expected, 2e-5);
  }
}

TEST(EmulatedPrograms, BuffersComeBackAtTheirAddressesAndDeviceGlobalsKeepTheirValues) {
  Candidate c(R"(
__device__ int calls;
__global__ void k(unsigned long long *out) {
  out[0] = (unsigned long long)out;
  out[1] = ++calls;
}
extern "C" void launch(unsigned long long *out, int n) { k<<<1, 1>>>(out); }
)");
  c.out("out", ElementType::U64, "2").size(1);
  auto outcomes = c.runAll({true, true});
  ASSERT_EQ(outcomes[0].reason, Reason::None) << outcomes[0].detail;
  ASSERT_EQ(outcomes[1].reason, Reason::None) << outcomes[1].detail;
  auto first = Candidate::elements<uint64_t>(outcomes[0].outputs[0]), second = Candidate::elements<uint64_t>(outcomes[1].outputs[0]);
  EXPECT_EQ(first[0], second[0]);
  EXPECT_EQ(first[1] + 1, second[1]);
}
