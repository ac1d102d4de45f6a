#include "lineage_db/shape.h"
#include <gtest/gtest.h>

using namespace klineage;

namespace {

bool has(const Shape &shape, const std::string &token) { return shape.count(token) != 0; }

TEST(Shape, IsTheSameForRenamedReorderedAndReformattedCode) {
  Shape a = shapeOf("int row = blockIdx.y * blockDim.y + threadIdx.y;\n"
                    "for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + col];");
  Shape b = shapeOf("int const q = threadIdx.y + blockDim.y*blockIdx.y; // where\n"
                    "for (unsigned z = 0; D > 0 && z < D; z++) { s = s + right[C + z*W] * left[z + D*q]; }");
  for (const char *token : {"fold:+dot(gg)", "loop:0:1", "at:read:g[bs+i+sy]"}) EXPECT_TRUE(has(a, token)) << token;
  EXPECT_TRUE(has(b, "fold:+dot(gg)"));
  a.erase("at:read:g[bs+i+sy]");
  EXPECT_EQ(shapeOf("for (int k = 0; k < K; ++k) acc += A[r * K + k] * B[k * N + c];"),
            shapeOf("for (int zz=0;zz<LEN;++zz)\n{ total = total + (weights[zz*stride+lane_] * (values[LEN*which+zz])); }"));
}

TEST(Shape, ResolvesIndicesThroughLocals) {
  EXPECT_EQ(shapeOf("int a = threadIdx.x; int g = blockIdx.x * 128 + a; out[g] = in[g];").count("at:read:g[bs+x]"), 1u);
  EXPECT_TRUE(has(shapeOf("out[blockDim.x * blockIdx.x + threadIdx.x] = 0;"), "at:write:g[bs+x]"));
}

TEST(Shape, TellsCoalescedFromStridedAccess) {
  EXPECT_TRUE(has(shapeOf("int r = blockIdx.x * blockDim.x + threadIdx.x; for (int c = 0; c < n; ++c) s += x[r * n + c];"), "lane:read:g:strided"));
  EXPECT_TRUE(has(shapeOf("int r = blockIdx.x; for (int c = threadIdx.x; c < n; c += blockDim.x) s += x[r * n + c];"), "lane:read:g:unit"));
}

TEST(Shape, SeesWideAccessThroughCastsAliasesAndHints) {
  for (const char *code : {"float4 v = reinterpret_cast<const float4 *>(row)[i];", "const float4 *p = (const float4 *)row; float4 v = p[i];",
                           "float4 v = *reinterpret_cast<const float4 *>(&row[4 * i]);", "float4 v = __ldg((const float4 *)(row + 4 * i));",
                           "float4 v = *(const float4*)(row + 4*i);"})
    EXPECT_TRUE(has(shapeOf(code), "wide4.read:g")) << code;
  EXPECT_TRUE(has(shapeOf("reinterpret_cast<float4 *>(out)[i] = v;"), "wide4.write:g"));
}

TEST(Shape, SeesNeighboursThatOneWideAccessCouldReplace) {
  EXPECT_TRUE(has(shapeOf("a = x[4*i]; b = x[4*i+1]; c = x[4*i+2]; d = x[4*i+3];"), "adjacent.read:g"));
  EXPECT_TRUE(has(shapeOf("for (int k = 0; k < 4; ++k) v[k] = x[4 * i + k];"), "adjacent.read:g"));
}

TEST(Shape, SeesHowAReductionIsMade) {
  EXPECT_TRUE(has(shapeOf("for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (t < s) buf[t] += buf[t + s]; __syncthreads(); }"), "tree.barrier"));
  EXPECT_TRUE(has(shapeOf("for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);"), "tree.shuffle"));
  EXPECT_TRUE(has(shapeOf("for (;;i++) { float n = fmaxf(m, x[i]); s = s * expf(m - n) + expf(x[i] - n); m = n; }"), "rescale"));
  EXPECT_TRUE(has(shapeOf("for (int i = 0; i < n; ++i) if (x[i] > m) m = x[i];"), "fold:max"));
  EXPECT_TRUE(has(shapeOf("for (int i = 0; i < n; ++i) m = m > x[i] ? m : x[i];"), "fold:max"));
  EXPECT_TRUE(has(shapeOf("for (int i = 0; i < n; ++i) s = fmaf(a[i], b[i], s);"), "fold:+dot(gg)"));
}

TEST(Shape, SeesTilesPaddingAndStages) {
  EXPECT_TRUE(has(shapeOf("__shared__ float t[32][33];"), "shared.pad"));
  EXPECT_TRUE(has(shapeOf("__shared__ float t[TILE][TILE + 1];"), "shared.pad"));
  EXPECT_TRUE(has(shapeOf("__shared__ float t[ROWS * (COLS + 1)];"), "shared.pad"));
  EXPECT_FALSE(has(shapeOf("__shared__ float t[32][32];"), "shared.pad"));
  EXPECT_TRUE(has(shapeOf("__shared__ float t[2][16][16]; b ^= 1;"), "stage.flip"));
  EXPECT_TRUE(has(shapeOf("for (int t = 0; t < n; ++t) { as[threadIdx.y][threadIdx.x] = A[t * 16 + threadIdx.x]; __syncthreads(); "
                          "for (int k = 0; k < 16; ++k) acc += as[threadIdx.y][k] * bs[k][threadIdx.x]; __syncthreads(); }"), "loop.tile"));
}

TEST(Shape, TellsFastFromExactMath) {
  EXPECT_TRUE(has(shapeOf("y = __expf(x);"), "fast:exp"));
  EXPECT_TRUE(has(shapeOf("y = std::exp(x);"), "exact:exp"));
  EXPECT_TRUE(has(shapeOf("y = v[i] / total;"), "divide"));
  EXPECT_FALSE(has(shapeOf("int w = threadIdx.x / width;"), "divide"));
}

// Pieces as people paste them: cut anywhere, with macros, with nonsense.
TEST(Shape, ReadsAnyTextToItsEnd) {
  EXPECT_TRUE(has(shapeOf("} else { for (int k = 0; k < 8; ++k) acc += a[k] * b["), "loop"));
  EXPECT_TRUE(has(shapeOf("... ) } ] @ for (int i = 0; i < n; ++i) { s += x[i]; "), "fold:+load(g)"));
  EXPECT_TRUE(shapeOf("").empty());
  EXPECT_TRUE(shapeOf("the quick brown fox").empty());
  std::string deep;
  for (int i = 0; i < 20000; ++i) deep += "((a[";
  shapeOf(deep);
  deep.clear();
  for (int i = 0; i < 20000; ++i) deep += "{if(x)";
  shapeOf(deep);
  deep = "x = a";
  for (int i = 0; i < 50000; ++i) deep += "+a[i]*b";
  shapeOf(deep);
  deep = "x = ";
  for (int i = 0; i < 50000; ++i) deep += "-!*&(float)";
  shapeOf(deep);
  deep = "x";
  for (int i = 0; i < 50000; ++i) deep += "[i].f(2)";
  shapeOf(deep);
  deep.clear();
  for (int i = 0; i < 3000; ++i) deep += "template<class T<";
  shapeOf(deep);
}

} // namespace
