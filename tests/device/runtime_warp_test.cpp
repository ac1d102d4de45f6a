#include "emulated_kernel.h"
#include "device/emulated/runtime/numbers.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace klineage;
using namespace klineage::emulated;
using namespace klineage::emulated::testing;

namespace {

void runOnWarp(const TestKernel::Body &body, Reason reason = Reason::None, unsigned threads = 32, unsigned shared = 0,
               std::function<void(Machine &)> prepare = {}) {
  Sites sites;
  for (int i = 0; i < 16; ++i) sites.add(KL_SITE_EXCHANGE, KL_GENERIC, 0);
  for (bool reverse : {false, true}) {
    MachineOptions options;
    options.reverse = reverse;
    auto machine = makeMachine(options);
    if (prepare) prepare(*machine);
    TestKernel kernel(sites, body);
    kernel.run(*machine, 1, threads, shared);
    EXPECT_EQ(machine->fault().reason, reason) << machine->fault().detail;
  }
}

TEST(Warp, ShufflesFollowThePtxManual) {
  runOnWarp([](kl_thread *self) {
    auto value = [&](uint32_t mode, uint32_t by, uint32_t clamp) { return kl_shuffle(self, ~0u, mode, self->lane * 3, by, clamp, mode, by); };
    uint32_t lane = self->lane;
    EXPECT_EQ(value(KL_SHUFFLE_DOWN, 4, 31), (lane + 4 < 32 ? (lane + 4) * 3 | uint64_t(1) << 32 : lane * 3));
    EXPECT_EQ(value(KL_SHUFFLE_UP, 4, 0), (lane >= 4 ? (lane - 4) * 3 | uint64_t(1) << 32 : lane * 3));
    EXPECT_EQ(value(KL_SHUFFLE_BFLY, 16, 31), (lane ^ 16) * 3 | uint64_t(1) << 32);
    EXPECT_EQ(value(KL_SHUFFLE_IDX, 9, 31), 27u | uint64_t(1) << 32);
    // Width 8: the segment is in bits 8 to 12 of the last operand.
    uint32_t clamp = (32 - 8) << 8 | 31;
    EXPECT_EQ(value(KL_SHUFFLE_DOWN, 6, clamp), (lane % 8 + 6 < 8 ? (lane + 6) * 3 | uint64_t(1) << 32 : lane * 3));
    EXPECT_EQ(value(KL_SHUFFLE_IDX, 1, clamp), (lane / 8 * 8 + 1) * 3 | uint64_t(1) << 32);
  });
}

TEST(Warp, VotesMatchesAndReductionsAgreeWithADirectCount) {
  runOnWarp([](kl_thread *self) {
    uint32_t lane = self->lane;
    EXPECT_EQ(kl_vote(self, ~0u, KL_VOTE_BALLOT, lane % 3 == 0, 0, 0), 0x49249249u);
    EXPECT_EQ(kl_vote(self, ~0u, KL_VOTE_ALL, lane < 32, 1, 0), 1u);
    EXPECT_EQ(kl_vote(self, ~0u, KL_VOTE_ANY, lane == 31, 2, 0), 1u);
    EXPECT_EQ(kl_match(self, ~0u, 0, lane / 16, 4, 3, 0), lane < 16 ? 0xFFFFu : 0xFFFF0000u);
    EXPECT_EQ(kl_match(self, ~0u, 1, 7, 4, 4, 0), 0xFFFFFFFFu | uint64_t(1) << 32);
    EXPECT_EQ(kl_match(self, ~0u, 1, lane, 4, 5, 0), 0u);
    EXPECT_EQ(kl_redux(self, ~0u, KL_ADD, lane, 6, 0), 496u);
    EXPECT_EQ(kl_redux(self, ~0u, KL_MIN_S, lane - 5, 7, 0), uint32_t(-5));
  });
}

TEST(Warp, TilesOfOneWarpExchangeApart) {
  runOnWarp([](kl_thread *self) {
    uint32_t mask = self->lane < 16 ? 0xFFFFu : 0xFFFF0000u;
    EXPECT_EQ(kl_redux(self, mask, KL_ADD, 1, 0, 0), 16u);
  });
}

TEST(Warp, AMaskWithoutTheCallerOrWithAbsentLanesIsDivergence) {
  runOnWarp([](kl_thread *self) { kl_vote(self, 0xFFFF, KL_VOTE_ANY, 1, 0, 0); }, Reason::BarrierDivergence);
  runOnWarp([](kl_thread *self) { kl_shuffle(self, ~0u, KL_SHUFFLE_IDX, 0, 0, 31, self->lane < 16 ? 0 : 1, 0); },
            Reason::BarrierDivergence);
}

TEST(Warp, ALaneThatDoesNotExistGivesAnUndefinedValue) {
  runOnWarp([](kl_thread *self) {
    auto got = uint32_t(kl_shuffle(self, ~0u, KL_SHUFFLE_DOWN, 5, 16, 31, 0, 0));
    if (self->lane >= 1 && self->lane < 16) EXPECT_TRUE(std::isnan(floatOf(got)));
  }, Reason::None, 17);
}

TEST(Warp, ActiveMaskSeesThoseWhoWentTheSameWay) {
  runOnWarp([](kl_thread *self) {
    if (self->lane % 2) EXPECT_EQ(kl_activemask(self, 0, 0), 0xAAAAAAAAu);
    else EXPECT_EQ(kl_activemask(self, 1, 0), 0x55555555u);
  });
}

float valueAt(unsigned i, unsigned j, unsigned salt) { return float(int((i * 7 + j * 13 + salt) % 11) - 5) * 0.25f; }
uint32_t pair(uint32_t type, float low, float high) {
  return type == KL_E_F16 ? floatToHalf(low) | uint32_t(floatToHalf(high)) << 16 : floatToBfloat(low) | uint32_t(floatToBfloat(high)) << 16;
}

TEST(Warp, Mma16816ComputesTheProductOfItsFragments) {
  for (uint32_t type : {uint32_t(KL_E_F16), uint32_t(KL_E_BF16)})
    runOnWarp([=](kl_thread *self) {
      unsigned g = self->lane / 4, t = self->lane % 4;
      uint32_t a[4], b[2], c[4], d[4];
      for (unsigned r = 0; r < 4; ++r) {
        unsigned row = g + 8 * (r & 1), column = 2 * t + 8 * (r >> 1);
        a[r] = pair(type, valueAt(row, column, 1), valueAt(row, column + 1, 1));
      }
      for (unsigned r = 0; r < 2; ++r) b[r] = pair(type, valueAt(2 * t + 8 * r, g, 2), valueAt(2 * t + 8 * r + 1, g, 2));
      for (unsigned r = 0; r < 4; ++r) c[r] = bitsOf(float(r));
      kl_mma(self, 16 << 16 | 8 << 8 | 16, type | type << 8 | KL_E_F32 << 16 | KL_E_F32 << 24, d, a, b, c, 0, 0);
      for (unsigned r = 0; r < 4; ++r) {
        unsigned row = g + 8 * (r >> 1), column = 2 * t + (r & 1);
        float expected = float(r);
        for (unsigned k = 0; k < 16; ++k) expected += valueAt(row, k, 1) * valueAt(k, column, 2);
        EXPECT_EQ(floatOf(d[r]), expected);
      }
    });
}

TEST(Warp, LdmatrixGivesEachLaneItsPairAlsoTransposed) {
  runOnWarp([](kl_thread *self) {
    auto *tile = reinterpret_cast<uint16_t *>(self->shared);
    for (unsigned i = 0; i < 8; ++i) { // four matrices of 8 × 8, row by row
      unsigned at = self->lane * 8 + i;
      kl_store(self, &tile[at], 2, 0, i);
      tile[at] = uint16_t(at);
    }
    kl_syncwarp(self, ~0u, 1, 0);
    for (uint32_t transposed : {0u, 1u}) {
      uint32_t out[4];
      kl_ldmatrix(self, out, &tile[self->lane * 8], 4, transposed, 2, transposed);
      for (unsigned m = 0; m < 4; ++m)
        for (unsigned half = 0; half < 2; ++half) {
          unsigned row = self->lane / 4, column = 2 * (self->lane % 4) + half;
          if (transposed) std::swap(row, column);
          EXPECT_EQ(out[m] >> 16 * half & 0xFFFF, m * 64 + row * 8 + column);
        }
    }
  }, Reason::None, 32, 512);
}

TEST(Warp, WmmaMultipliesWhatItLoads) {
  static uint16_t *a, *b;
  static float *d;
  for (uint32_t columnMajor : {0u, 1u})
    runOnWarp([=](kl_thread *self) {
      uint32_t fa[8], fb[8], fc[8] = {}, fd[8];
      uint32_t shape = 16 << 16 | 16 << 8 | 16;
      kl_wmma_load(self, 0, shape, KL_E_F16, 0, fa, a, 16, 0, 0);
      kl_wmma_load(self, 1, shape, KL_E_F16, columnMajor, fb, b, 16, 1, 0);
      kl_wmma_mma(self, shape, KL_E_F16 | KL_E_F16 << 8 | KL_E_F32 << 16 | KL_E_F32 << 24, columnMajor << 1, fd, fa, fb, fc, 2, 0);
      kl_wmma_store(self, shape, KL_E_F32, 0, d, fd, 16, 3, 0);
      kl_syncwarp(self, ~0u, 4, 0);
      for (unsigned i = self->lane; i < 256; i += 32) {
        float expected = 0;
        for (unsigned k = 0; k < 16; ++k)
          expected += valueAt(i / 16, k, 1) * (columnMajor ? valueAt(i % 16, k, 2) : valueAt(k, i % 16, 2));
        EXPECT_EQ(d[i], expected) << i;
      }
    }, Reason::None, 32, 0, [](Machine &machine) {
      a = static_cast<uint16_t *>(machine.allocate(512, 256, 0, "a"));
      b = static_cast<uint16_t *>(machine.allocate(512, 256, 0, "b"));
      d = static_cast<float *>(machine.allocate(1024, 256, 0, "d"));
      for (unsigned i = 0; i < 256; ++i) a[i] = floatToHalf(valueAt(i / 16, i % 16, 1)), b[i] = floatToHalf(valueAt(i / 16, i % 16, 2));
    });
}

TEST(Numbers, HalfRoundsToNearestEvenLikeTheCompilersOwn) {
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    float value = floatOf(random());
    uint16_t ours = floatToHalf(value), theirs = std::bit_cast<uint16_t>(static_cast<_Float16>(value));
    if (std::isnan(value)) EXPECT_TRUE(std::isnan(halfToFloat(ours)));
    else ASSERT_EQ(ours, theirs) << value;
  }
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float ours = halfToFloat(uint16_t(bits)), theirs = float(std::bit_cast<_Float16>(uint16_t(bits)));
    if (!std::isnan(theirs)) ASSERT_EQ(ours, theirs);
  }
}

} // namespace
