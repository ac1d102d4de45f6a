#include "emulated_kernel.h"
#include <gtest/gtest.h>

using namespace klineage;
using namespace klineage::emulated;
using namespace klineage::emulated::testing;

namespace {

MachineOptions options(bool reverse = false, unsigned workers = 0) {
  MachineOptions options;
  options.reverse = reverse;
  options.workers = workers;
  return options;
}

struct Reversal {
  Sites sites;
  uint32_t in = sites.add(KL_SITE_LOAD, KL_GLOBAL, 4), put = sites.add(KL_SITE_STORE, KL_SHARED, 4),
           barrier = sites.add(KL_SITE_BARRIER, KL_GENERIC, 0), get = sites.add(KL_SITE_LOAD, KL_SHARED, 4),
           out = sites.add(KL_SITE_STORE, KL_GLOBAL, 4);
  TestKernel kernel(float *a, float *b, bool withBarrier) {
    return TestKernel(sites, [=, *this](kl_thread *self) {
      auto *tile = reinterpret_cast<float *>(self->shared);
      store(self, &tile[self->tid[0]], load(self, &a[globalIndex(self)], in), put);
      if (withBarrier) kl_barrier(self, 0, 0, barrier, 0);
      store(self, &b[globalIndex(self)], load(self, &tile[self->ntid[0] - 1 - self->tid[0]], get), out);
    });
  }
};

TEST(Execution, BlocksReverseTheirSharedTileInBothThreadOrders) {
  for (bool reverse : {false, true}) {
    auto machine = makeMachine(options(reverse));
    auto *a = static_cast<float *>(machine->allocate(4 * 512, 256, 0, "a"));
    auto *b = static_cast<float *>(machine->allocate(4 * 512, 256, 0, "b"));
    for (int i = 0; i < 512; ++i) a[i] = float(i);
    Reversal reversal;
    auto kernel = reversal.kernel(a, b, true);
    ASSERT_TRUE(kernel.run(*machine, 4, 128, 512)) << machine->fault().detail;
    for (int i = 0; i < 512; ++i) ASSERT_EQ(b[i], float(i / 128 * 128 + 127 - i % 128));
  }
}

TEST(Execution, AShuffledOrderRunsEveryThreadOnce) {
  for (uint64_t seed : {1, 2, 77}) {
    MachineOptions shuffled;
    shuffled.shuffleSeed = seed;
    auto machine = makeMachine(shuffled);
    auto *a = static_cast<float *>(machine->allocate(4 * 600, 256, 0, "a"));
    auto *b = static_cast<float *>(machine->allocate(4 * 600, 256, 0, "b"));
    for (int i = 0; i < 600; ++i) a[i] = float(i);
    Reversal reversal;
    auto kernel = reversal.kernel(a, b, true);
    ASSERT_TRUE(kernel.run(*machine, 3, 200, 800)) << machine->fault().detail;
    for (int i = 0; i < 600; ++i) ASSERT_EQ(b[i], float(i / 200 * 200 + 199 - i % 200));
  }
}

TEST(Execution, AMissingBarrierIsARaceInBothThreadOrders) {
  for (bool reverse : {false, true}) {
    auto machine = makeMachine(options(reverse));
    auto *a = static_cast<float *>(machine->allocate(4 * 512, 256, 0, "a"));
    auto *b = static_cast<float *>(machine->allocate(4 * 512, 256, 0, "b"));
    Reversal reversal;
    auto kernel = reversal.kernel(a, b, false);
    EXPECT_FALSE(kernel.run(*machine, 4, 128, 512));
    // Which of the two the emulator meets first depends on the order; both say that the barrier is missing.
    EXPECT_TRUE(machine->fault().reason == Reason::Race || machine->fault().reason == Reason::UninitializedRead) << machine->fault().detail;
  }
}

TEST(Execution, AnEarlyExitOfSomeThreadsDoesNotHoldTheBarrier) {
  auto machine = makeMachine(options());
  Sites sites;
  uint32_t barrier = sites.add(KL_SITE_BARRIER, KL_GENERIC, 0);
  TestKernel kernel(sites, [&](kl_thread *self) {
    if (self->tid[0] >= 40) return;
    kl_barrier(self, 0, 0, barrier, 0);
  });
  EXPECT_TRUE(kernel.run(*machine, 2, 64)) << machine->fault().detail;
}

TEST(Execution, DifferentBarriersOfOneBlockAreDivergence) {
  auto machine = makeMachine(options());
  Sites sites;
  uint32_t one = sites.add(KL_SITE_BARRIER, KL_GENERIC, 0), two = sites.add(KL_SITE_BARRIER, KL_GENERIC, 0);
  TestKernel kernel(sites, [&](kl_thread *self) { kl_barrier(self, 0, 0, self->tid[0] < 32 ? one : two, 0); });
  EXPECT_FALSE(kernel.run(*machine, 1, 64));
  EXPECT_EQ(machine->fault().reason, Reason::BarrierDivergence);
  EXPECT_NE(machine->fault().detail.find("kernel.cu:2"), std::string::npos) << machine->fault().detail;
}

TEST(Execution, AThreadThatMissesABarrierWhileOthersPassTwiceIsDivergence) {
  auto machine = makeMachine(options());
  Sites sites;
  uint32_t barrier = sites.add(KL_SITE_BARRIER, KL_GENERIC, 0), sync = sites.add(KL_SITE_SYNCWARP, KL_GENERIC, 0);
  TestKernel kernel(sites, [&](kl_thread *self) {
    if (self->tid[0] == 3) kl_syncwarp(self, ~0u, sync, 0);
    else kl_barrier(self, 0, 0, barrier, 0);
  });
  EXPECT_FALSE(kernel.run(*machine, 1, 64));
  EXPECT_EQ(machine->fault().reason, Reason::BarrierDivergence) << machine->fault().detail;
}

TEST(Execution, ASpinOnAFlagThatNobodySetsIsAHang) {
  auto machine = makeMachine(options());
  Sites sites;
  uint32_t init = sites.add(KL_SITE_STORE, KL_SHARED, 4), barrier = sites.add(KL_SITE_BARRIER, KL_GENERIC, 0),
           poll = sites.add(KL_SITE_LOAD, KL_SHARED, 4, KL_VOLATILE);
  TestKernel kernel(sites, [&](kl_thread *self) {
    auto *flag = reinterpret_cast<int *>(self->shared);
    if (self->tid[0] == 0) store(self, flag, 0, init);
    kl_barrier(self, 0, 0, barrier, 0);
    for (uint64_t i = 0; load(self, flag, poll, i) == 0; ++i) kl_yield(self, poll, i);
  });
  EXPECT_FALSE(kernel.run(*machine, 1, 64, 16));
  EXPECT_EQ(machine->fault().reason, Reason::Hang) << machine->fault().detail;
}

TEST(Execution, BlocksThatWaitForLaterBlocksMakeProgress) {
  for (bool reverse : {false, true}) {
    auto machine = makeMachine(options(reverse));
    auto *flags = static_cast<int *>(machine->allocate(4 * 8, 256, 0, "flags"));
    auto *data = static_cast<int *>(machine->allocate(4 * 8, 256, 0, "data"));
    auto *out = static_cast<int *>(machine->allocate(4 * 8, 256, 0, "out"));
    Sites sites;
    uint32_t write = sites.add(KL_SITE_STORE, KL_GLOBAL, 4), fence = sites.add(KL_SITE_FENCE, KL_GENERIC, 0),
             set = sites.add(KL_SITE_STORE, KL_GLOBAL, 4, KL_VOLATILE), poll = sites.add(KL_SITE_LOAD, KL_GLOBAL, 4, KL_VOLATILE),
             read = sites.add(KL_SITE_LOAD, KL_GLOBAL, 4);
    TestKernel kernel(sites, [&](kl_thread *self) {
      uint32_t me = self->ctaid[0], other = 7 - me;
      store(self, &data[me], int(me * 10), write);
      kl_fence(self, KL_SEQ_CST | KL_SCOPE_DEVICE << 8, fence, 0);
      store(self, &flags[me], 1, set);
      for (uint64_t i = 0; load(self, &flags[other], poll, i) == 0; ++i) kl_yield(self, poll, i);
      store(self, &out[me], load(self, &data[other], read), write, 1);
    });
    ASSERT_TRUE(kernel.run(*machine, 8, 1)) << machine->fault().detail;
    for (int i = 0; i < 8; ++i) EXPECT_EQ(out[i], (7 - i) * 10);
  }
}

TEST(Execution, AKernelThatFaultsStopsTheMachine) {
  auto machine = makeMachine(options());
  auto *a = static_cast<float *>(machine->allocate(400, 256, 0, "a"));
  Sites sites;
  uint32_t put = sites.add(KL_SITE_STORE, KL_GLOBAL, 4);
  TestKernel kernel(sites, [&](kl_thread *self) { store(self, &a[globalIndex(self)], 1.0f, put); });
  EXPECT_FALSE(kernel.run(*machine, 1, 128));
  EXPECT_EQ(machine->fault().reason, Reason::OutOfBounds);
  EXPECT_NE(machine->fault().detail.find("byte 400 of a"), std::string::npos) << machine->fault().detail;
  EXPECT_FALSE(kernel.run(*machine, 1, 32));
}

TEST(Execution, AnIndexBeyondTwoToTheThirtyOneTouchesFewPages) {
  auto machine = makeMachine(options());
  size_t elements = (size_t(1) << 31) + 4096;
  auto *a = static_cast<float *>(machine->allocate(4 * elements, 256, 0, "a"));
  ASSERT_NE(a, nullptr);
  Sites sites;
  uint32_t put = sites.add(KL_SITE_STORE, KL_GLOBAL, 4);
  TestKernel kernel(sites, [&](kl_thread *self) { store(self, &a[elements - 32 + self->tid[0]], 1.0f, put); });
  ASSERT_TRUE(kernel.run(*machine, 1, 32)) << machine->fault().detail;
  EXPECT_EQ(a[elements - 1], 1.0f);
}

TEST(Execution, ReadsOfAnOddAddressAreMisaligned) {
  auto machine = makeMachine(options());
  auto *a = static_cast<char *>(machine->allocate(4096, 256, 4, "a"));
  Sites sites;
  uint32_t get = sites.add(KL_SITE_LOAD, KL_GLOBAL, 16);
  TestKernel kernel(sites, [&](kl_thread *self) { kl_load(self, a, 16, get, 0); });
  EXPECT_FALSE(kernel.run(*machine, 1, 32));
  EXPECT_EQ(machine->fault().reason, Reason::Misaligned) << machine->fault().detail;
}

TEST(Execution, TooMuchSharedMemoryExceedsResourcesAndABadShapeIsALaunchError) {
  auto machine = makeMachine(options());
  TestKernel kernel({}, [](kl_thread *) {});
  EXPECT_FALSE(kernel.run(*machine, 1, 32, 48 * 1024 + 4));
  EXPECT_EQ(machine->fault().reason, Reason::ResourcesExceeded) << machine->fault().detail;
  auto other = makeMachine(options());
  EXPECT_FALSE(kernel.run(*other, 1, 1056));
  EXPECT_EQ(other->fault().reason, Reason::LaunchError) << other->fault().detail;
}

} // namespace
