#include "emulated_kernel.h"
#include "device/emulated/runtime/counts.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace klineage;
using namespace klineage::emulated;
using namespace klineage::emulated::testing;

namespace {

Counters countersOf(const Sites &sites, const TestKernel::Body &body, unsigned grid, unsigned threads, unsigned shared = 0,
                    std::function<void(Machine &)> prepare = {}, unsigned workers = 0, bool check = true) {
  MachineOptions options;
  options.workers = workers;
  options.check = check;
  auto machine = makeMachine(options);
  if (prepare) prepare(*machine);
  TestKernel kernel(sites, body);
  EXPECT_TRUE(kernel.run(*machine, grid, threads, shared)) << machine->fault().detail;
  return machine->counters();
}

char *buffer;
void allocateBuffer(Machine &machine) { buffer = static_cast<char *>(machine.allocate(1 << 20, 256, 0, "buffer")); }

/// Sectors of one warp that reads `bytes` at lane × stride + offset.
double sectors(unsigned bytes, unsigned stride, unsigned offset) {
  Sites sites;
  uint32_t get = sites.add(KL_SITE_LOAD, KL_GLOBAL, bytes);
  Counters counters = countersOf(
      sites, [=](kl_thread *self) { kl_load(self, buffer + self->lane * stride + offset, bytes, get, 0); }, 1, 32, 0, allocateBuffer);
  EXPECT_EQ(counters["global_load_requests"], 1);
  return counters["global_load_sectors"];
}

TEST(Counts, SectorsOfARequestAreTheDistinctOnes) {
  EXPECT_EQ(sectors(4, 4, 0), 4);
  EXPECT_EQ(sectors(4, 4, 16), 5) << "a start in the middle of a sector costs one more";
  EXPECT_EQ(sectors(4, 32, 0), 32);
  EXPECT_EQ(sectors(4, 0, 0), 1) << "one address for all lanes is one sector";
  EXPECT_EQ(sectors(8, 8, 0), 8);
  EXPECT_EQ(sectors(16, 16, 0), 16);
  EXPECT_EQ(sectors(2, 2, 0), 2);
}

struct SharedResult {
  double wavefronts, conflicts;
};
SharedResult sharedStores(unsigned bytes, unsigned stride) {
  Sites sites;
  uint32_t put = sites.add(KL_SITE_STORE, KL_SHARED, bytes);
  Counters counters = countersOf(
      sites, [=](kl_thread *self) { kl_store(self, self->shared + self->lane * stride, bytes, put, 0); }, 1, 32, 32 * 1024, {}, 0, false);
  return {counters["shared_store_wavefronts"], counters["shared_store_conflicts"]};
}

TEST(Counts, SharedWavefrontsFollowTheBanks) {
  auto expect = [](unsigned bytes, unsigned stride, double wavefronts, double conflicts) {
    SharedResult result = sharedStores(bytes, stride);
    EXPECT_EQ(result.wavefronts, wavefronts) << bytes << " bytes, stride " << stride;
    EXPECT_EQ(result.conflicts, conflicts) << bytes << " bytes, stride " << stride;
  };
  expect(4, 4, 1, 0);
  expect(4, 8, 2, 1);
  expect(4, 128, 32, 31);
  expect(4, 132, 1, 0);
  expect(4, 0, 1, 0); // one word for all
  expect(8, 8, 2, 0);
  expect(8, 16, 4, 2);
  expect(16, 16, 4, 0);
  expect(16, 128, 32, 28);
  expect(2, 2, 1, 0);
}

TEST(Counts, LanesThatGoDifferentWaysAreRequestsOfTheirOwn) {
  Sites sites;
  uint32_t branch = sites.add(KL_SITE_BRANCH, KL_GENERIC, 0), one = sites.add(KL_SITE_LOAD, KL_GLOBAL, 4),
           two = sites.add(KL_SITE_LOAD, KL_GLOBAL, 4), join = sites.add(KL_SITE_LOAD, KL_GLOBAL, 4);
  Counters counters = countersOf(sites, [=](kl_thread *self) {
    bool left = self->lane < 8;
    kl_branch(self, left, branch, 0);
    kl_load(self, buffer + 4 * self->lane, 4, left ? one : two, 0);
    kl_load(self, buffer + 4 * self->lane, 4, join, 0);
  }, 1, 32, 0, allocateBuffer);
  EXPECT_EQ(counters["global_load_requests"], 3);
  EXPECT_EQ(counters["global_load_sectors"], 1 + 3 + 4);
  EXPECT_EQ(counters["branches"], 1);
  EXPECT_EQ(counters["divergent_branches"], 1);
}

TEST(Counts, UnevenLoopsCountTheLongestLane) {
  Sites sites;
  uint32_t get = sites.add(KL_SITE_LOAD, KL_GLOBAL, 4), after = sites.add(KL_SITE_LOAD, KL_GLOBAL, 4);
  Counters counters = countersOf(sites, [=](kl_thread *self) {
    for (unsigned i = 0; i <= self->lane * 100; ++i) kl_load(self, buffer + 4 * self->lane, 4, get, i);
    kl_load(self, buffer + 4 * self->lane, 4, after, 0);
  }, 1, 32, 0, allocateBuffer);
  // The early lanes wait at the last load while late ones go on, within the bound of the log.
  EXPECT_EQ(counters["global_load_requests"], 31 * 100 + 1 + 1);
}

TEST(Counts, AtomicsOnOneAddressConflict) {
  Sites sites;
  uint32_t add = sites.add(KL_SITE_ATOMIC, KL_GLOBAL, 4);
  auto run = [&](unsigned stride) {
    return countersOf(sites, [=](kl_thread *self) {
      kl_atomic_rmw(self, buffer + self->lane * stride, KL_ADD, KL_I32, 1, KL_RELAXED | KL_SCOPE_DEVICE << 8, add, 0);
    }, 1, 32, 0, allocateBuffer);
  };
  EXPECT_EQ(run(0)["global_atomic_conflicts"], 31);
  EXPECT_EQ(run(4)["global_atomic_conflicts"], 0);
  EXPECT_EQ(run(8)["global_atomic_sectors"], 8);
}

TEST(Counts, AreTheSameForAnyNumberOfWorkersAndBothOrders) {
  Sites sites;
  uint32_t get = sites.add(KL_SITE_LOAD, KL_GLOBAL, 4), put = sites.add(KL_SITE_STORE, KL_SHARED, 4),
           barrier = sites.add(KL_SITE_BARRIER, KL_GENERIC, 0), shared = sites.add(KL_SITE_LOAD, KL_SHARED, 4),
           out = sites.add(KL_SITE_STORE, KL_GLOBAL, 4), branch = sites.add(KL_SITE_BRANCH, KL_GENERIC, 0);
  auto body = [=](kl_thread *self) {
    auto *tile = reinterpret_cast<float *>(self->shared);
    for (unsigned k = 0; k < 7; ++k) {
      unsigned i = (globalIndex(self) * (k + 1)) % 4096;
      store(self, &tile[self->tid[0]], load(self, reinterpret_cast<float *>(buffer) + i, get, k), put, k);
      kl_barrier(self, 0, 0, barrier, k);
      kl_branch(self, i % 3 == 0, branch, k);
      if (i % 3 == 0) load(self, &tile[(self->tid[0] * 5 + k) % self->ntid[0]], shared, k);
      kl_barrier(self, 0, 0, barrier, k + 100);
    }
    store(self, reinterpret_cast<float *>(buffer + (1 << 19)) + globalIndex(self), 1.0f, out);
  };
  Counters first;
  for (unsigned workers : {1u, 2u, 5u})
    for (bool reverse : {false, true}) {
      MachineOptions options;
      options.workers = workers;
      options.reverse = reverse;
      auto machine = makeMachine(options);
      allocateBuffer(*machine);
      TestKernel kernel(sites, body);
      ASSERT_TRUE(kernel.run(*machine, 37, 100, 400)) << machine->fault().detail;
      Counters counters = machine->counters();
      if (first.empty()) first = counters;
      // Which lines an L1 still holds depends on the order of warps, so this one counter is compared within an order only.
      if (reverse) counters.erase("global_load_l1_hit_sectors");
      for (auto &[key, value] : counters)
        if (!key.starts_with("model_") && !key.starts_with("l2_") && !key.starts_with("dram_")) EXPECT_EQ(value, first[key]) << key;
    }
}

TEST(Counts, EachIsExplainedOnThePage) {
  std::ifstream file(std::string(KLINEAGE_SOURCE_DIR) + "/docs/device/counters.md");
  std::stringstream page;
  page << file.rdbuf();
  for (unsigned i = 0; i < unsigned(Count::Size); ++i) {
    std::string key = std::string("`") + name(Count(i)) + "`";
    EXPECT_NE(page.str().find(key), std::string::npos) << key;
  }
}

} // namespace
