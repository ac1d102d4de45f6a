#include "emulated_kernel.h"
#include <gtest/gtest.h>

using namespace klineage;
using namespace klineage::emulated;
using namespace klineage::emulated::testing;

namespace {

/// Runs in both orders; the reasons must agree.
emulated::Fault faultOf(const Sites &sites, const TestKernel::Body &body, unsigned grid, unsigned threads, unsigned shared,
              std::function<void(Machine &)> prepare = {}) {
  emulated::Fault fault;
  for (bool reverse : {false, true}) {
    MachineOptions options;
    options.reverse = reverse;
    auto machine = makeMachine(options);
    if (prepare) prepare(*machine);
    TestKernel kernel(sites, body);
    kernel.run(*machine, grid, threads, shared);
    if (reverse) EXPECT_EQ(machine->fault().reason, fault.reason) << fault.detail << "\n" << machine->fault().detail;
    fault = machine->fault();
  }
  return fault;
}

struct WarpReduction {
  Sites sites;
  uint32_t put = sites.add(KL_SITE_STORE, KL_SHARED, 4), sync = sites.add(KL_SITE_SYNCWARP, KL_GENERIC, 0),
           mine = sites.add(KL_SITE_LOAD, KL_SHARED, 4), other = sites.add(KL_SITE_LOAD, KL_SHARED, 4),
           sum = sites.add(KL_SITE_STORE, KL_SHARED, 4);
  WarpReduction(uint16_t flags = 0) {
    for (kl_site &site : sites.list) site.flags = flags;
  }
  TestKernel::Body body(bool synced) {
    return [=, *this](kl_thread *self) {
      auto *s = reinterpret_cast<float *>(self->shared);
      uint32_t t = self->tid[0];
      store(self, &s[t], 1.0f, put);
      if (synced) kl_syncwarp(self, ~0u, sync, 100);
      for (uint32_t by = 16; by > 0; by /= 2) {
        float value = t < by ? load(self, &s[t], mine, by) + load(self, &s[t + by], other, by) : 0;
        if (synced) kl_syncwarp(self, ~0u, sync, 50 + by);
        if (t < by) store(self, &s[t], value, sum, by);
        if (synced) kl_syncwarp(self, ~0u, sync, by);
      }
    };
  }
};

TEST(Races, AWarpReductionWithSyncwarpIsClean) {
  EXPECT_EQ(faultOf(WarpReduction().sites, WarpReduction().body(true), 2, 32, 128).reason, Reason::None);
}

TEST(Races, AWarpReductionOnVolatileWithoutSyncwarpIsARaceThatNamesIt) {
  WarpReduction reduction(KL_VOLATILE);
  MachineOptions options;
  options.reverse = true; // so that the upper lanes have written before the lower ones read
  auto machine = makeMachine(options);
  TestKernel kernel(reduction.sites, reduction.body(false));
  EXPECT_FALSE(kernel.run(*machine, 1, 32, 128));
  EXPECT_EQ(machine->fault().reason, Reason::Race);
  EXPECT_NE(machine->fault().detail.find("__syncwarp"), std::string::npos) << machine->fault().detail;
}

TEST(Races, AShuffleDoesNotOrderSharedMemory) {
  Sites sites;
  uint32_t put = sites.add(KL_SITE_STORE, KL_SHARED, 4), shuffle = sites.add(KL_SITE_EXCHANGE, KL_GENERIC, 0),
           get = sites.add(KL_SITE_LOAD, KL_SHARED, 4);
  emulated::Fault fault = faultOf(sites, [=](kl_thread *self) {
    auto *s = reinterpret_cast<uint32_t *>(self->shared);
    store(self, &s[self->lane], 1u, put);
    kl_shuffle(self, ~0u, KL_SHUFFLE_BFLY, 0, 1, 31, shuffle, 0);
    load(self, &s[self->lane ^ 1], get);
  }, 1, 32, 128);
  EXPECT_EQ(fault.reason, Reason::Race) << fault.detail;
}

TEST(Races, EqualValuesWrittenByTwoThreadsAreStillARace) {
  Sites sites;
  uint32_t put = sites.add(KL_SITE_STORE, KL_GLOBAL, 4);
  static int *a;
  emulated::Fault fault = faultOf(sites, [=](kl_thread *self) { store(self, a, 1, put); }, 1, 64, 0,
                        [](Machine &machine) { a = static_cast<int *>(machine.allocate(64, 256, 0, "a")); });
  EXPECT_EQ(fault.reason, Reason::Race) << fault.detail;
}

TEST(Races, TwoBlocksThatWriteOnePlaceRace) {
  Sites sites;
  uint32_t put = sites.add(KL_SITE_STORE, KL_GLOBAL, 4);
  static float *a;
  emulated::Fault fault = faultOf(sites, [=](kl_thread *self) { store(self, &a[self->tid[0]], 1.0f, put); }, 2, 32, 0,
                        [](Machine &machine) { a = static_cast<float *>(machine.allocate(4096, 256, 0, "a")); });
  EXPECT_EQ(fault.reason, Reason::Race) << fault.detail;
  EXPECT_NE(fault.detail.find("block"), std::string::npos);
}

TEST(Races, NeighbouringHalvesOfOneWordDoNotRace) {
  Sites sites;
  uint32_t put = sites.add(KL_SITE_STORE, KL_GLOBAL, 2), get = sites.add(KL_SITE_LOAD, KL_GLOBAL, 2),
           tile = sites.add(KL_SITE_STORE, KL_SHARED, 2);
  static uint16_t *a;
  emulated::Fault fault = faultOf(sites, [=](kl_thread *self) {
    uint16_t value = load(self, &a[globalIndex(self)], get);
    store(self, &reinterpret_cast<uint16_t *>(self->shared)[self->tid[0]], value, tile);
    store(self, &a[globalIndex(self)], value, put);
  }, 3, 33, 128, [](Machine &machine) { a = static_cast<uint16_t *>(machine.allocate(4096, 256, 0, "a")); });
  EXPECT_EQ(fault.reason, Reason::None) << fault.detail;
}

TEST(Races, AReadOfSharedMemoryThatNobodyWroteIsFound) {
  Sites sites;
  uint32_t get = sites.add(KL_SITE_LOAD, KL_SHARED, 4);
  emulated::Fault fault = faultOf(sites, [=](kl_thread *self) { load(self, reinterpret_cast<int *>(self->shared), get); }, 1, 1, 64);
  EXPECT_EQ(fault.reason, Reason::UninitializedRead) << fault.detail;
}

/// The last block to finish adds up what all the others wrote.
emulated::Fault lastBlock(bool fenced) {
  Sites sites;
  uint32_t put = sites.add(KL_SITE_STORE, KL_GLOBAL, 4), fence = sites.add(KL_SITE_FENCE, KL_GENERIC, 0),
           ticket = sites.add(KL_SITE_ATOMIC, KL_GLOBAL, 4), flag = sites.add(KL_SITE_STORE, KL_SHARED, 4),
           barrier = sites.add(KL_SITE_BARRIER, KL_GENERIC, 0), isLast = sites.add(KL_SITE_LOAD, KL_SHARED, 4),
           get = sites.add(KL_SITE_LOAD, KL_GLOBAL, 4);
  static float *partial;
  static uint32_t *counter;
  return faultOf(sites, [=](kl_thread *self) {
    auto *last = reinterpret_cast<uint32_t *>(self->shared);
    if (self->tid[0] == 0) {
      store(self, &partial[self->ctaid[0]], 1.0f, put);
      if (fenced) kl_fence(self, KL_SEQ_CST | KL_SCOPE_DEVICE << 8, fence, 0);
      uint64_t old = kl_atomic_rmw(self, counter, KL_ADD, KL_I32, 1, KL_RELAXED | KL_SCOPE_DEVICE << 8, ticket, 0);
      store(self, last, uint32_t(old == self->nctaid[0] - 1), flag);
    }
    kl_barrier(self, 0, 0, barrier, 0);
    if (load(self, last, isLast) && self->tid[0] < self->nctaid[0]) load(self, &partial[self->tid[0]], get);
  }, 16, 64, 16, [](Machine &machine) {
    partial = static_cast<float *>(machine.allocate(4096, 256, 0, "partial"));
    counter = static_cast<uint32_t *>(machine.allocate(4, 256, 0, "counter"));
  });
}

TEST(Races, TheLastBlockMayReadWhatOthersFenced) { EXPECT_EQ(lastBlock(true).reason, Reason::None) << lastBlock(true).detail; }
TEST(Races, TheLastBlockMayNotReadWhatOthersDidNotFence) { EXPECT_EQ(lastBlock(false).reason, Reason::Race); }

TEST(Races, NamedBarriersOrderTheirTakersOnly) {
  Sites sites;
  uint32_t put = sites.add(KL_SITE_STORE, KL_SHARED, 4), sync = sites.add(KL_SITE_BARRIER, KL_GENERIC, 0),
           get = sites.add(KL_SITE_LOAD, KL_SHARED, 4);
  auto body = [=](bool thirdReads) {
    return [=](kl_thread *self) {
      auto *s = reinterpret_cast<uint32_t *>(self->shared);
      if (self->warp == 0) {
        store(self, &s[self->lane], 1u, put);
        kl_barrier_arrive(self, 1, 64, sync, 0);
      } else if (self->warp == 1) {
        kl_barrier(self, 1, 64, sync, 0);
        load(self, &s[31 - self->lane], get);
      } else if (thirdReads) {
        kl_yield(self, get, 0);
        load(self, &s[self->lane], get);
      }
    };
  };
  EXPECT_EQ(faultOf(sites, body(false), 1, 96, 128).reason, Reason::None);
  MachineOptions options;
  auto machine = makeMachine(options);
  TestKernel kernel(sites, body(true));
  EXPECT_FALSE(kernel.run(*machine, 1, 96, 128));
  EXPECT_EQ(machine->fault().reason, Reason::Race) << machine->fault().detail;
}

TEST(Races, AnAsyncCopyMayBeReadAfterItsWaitAndABarrier) {
  Sites sites;
  uint32_t copy = sites.add(KL_SITE_COPY_ASYNC, KL_SHARED, 4), wait = sites.add(KL_SITE_COPY_ASYNC, KL_GENERIC, 0),
           barrier = sites.add(KL_SITE_BARRIER, KL_GENERIC, 0), get = sites.add(KL_SITE_LOAD, KL_SHARED, 4);
  static float *a;
  auto body = [=](bool waits, bool barriers) {
    return [=](kl_thread *self) {
      auto *s = reinterpret_cast<float *>(self->shared);
      kl_cp_async(self, &s[self->tid[0]], &a[self->tid[0]], 4, 4, copy, 0);
      kl_cp_async_commit(self, copy, 0);
      if (waits) kl_cp_async_wait(self, 0, wait, 0);
      if (barriers) kl_barrier(self, 0, 0, barrier, 0);
      load(self, &s[self->ntid[0] - 1 - self->tid[0]], get);
    };
  };
  auto prepare = [](Machine &machine) { a = static_cast<float *>(machine.allocate(4096, 256, 0, "a")); };
  EXPECT_EQ(faultOf(sites, body(true, true), 1, 64, 256, prepare).reason, Reason::None);
  EXPECT_EQ(faultOf(sites, body(false, true), 1, 64, 256, prepare).reason, Reason::Race);
  EXPECT_NE(faultOf(sites, body(true, false), 1, 64, 256, prepare).reason, Reason::None);
}

} // namespace
