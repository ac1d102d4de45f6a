#include "emulated_kernel.h"
#include <gtest/gtest.h>

using namespace klineage;
using namespace klineage::emulated;
using namespace klineage::emulated::testing;

namespace {

/// Sites and buffers of all kernels here; the basic block is one pass of the innermost loop.
struct Bench {
  Sites sites;
  uint32_t get = sites.add(KL_SITE_LOAD, KL_GLOBAL, 4), get2 = sites.add(KL_SITE_LOAD, KL_GLOBAL, 4), get16 = sites.add(KL_SITE_LOAD, KL_GLOBAL, 16),
           put = sites.add(KL_SITE_STORE, KL_GLOBAL, 4), put16 = sites.add(KL_SITE_STORE, KL_GLOBAL, 16),
           tileA = sites.add(KL_SITE_STORE, KL_SHARED, 4), tileB = sites.add(KL_SITE_STORE, KL_SHARED, 4),
           readA = sites.add(KL_SITE_LOAD, KL_SHARED, 4), readB = sites.add(KL_SITE_LOAD, KL_SHARED, 4),
           barrier = sites.add(KL_SITE_BARRIER, KL_GENERIC, 0), add = sites.add(KL_SITE_ATOMIC, KL_GLOBAL, 4);
  float *a = nullptr, *b = nullptr, *c = nullptr;

  struct Block {
    unsigned loads, stores, math, depth;
  };
  double seconds(Block block, unsigned grid, unsigned threads, unsigned shared, std::function<void(kl_thread *)> body) {
    MachineOptions options;
    options.check = false;
    auto machine = makeMachine(options);
    size_t bytes = 16 << 20;
    a = static_cast<float *>(machine->allocate(bytes, 256, 0, "a"));
    b = static_cast<float *>(machine->allocate(bytes, 256, 0, "b"));
    c = static_cast<float *>(machine->allocate(bytes, 256, 0, "c"));
    TestKernel kernel(sites, std::move(body));
    kernel.block = {};
    kernel.block.mix[KL_LOAD] = uint16_t(block.loads);
    kernel.block.mix[KL_STORE] = uint16_t(block.stores);
    kernel.block.mix[KL_FP32_FMA] = uint16_t(block.math);
    kernel.block.mix[KL_INT] = 2;
    kernel.block.mix[KL_BRANCH] = 1;
    kernel.block.depth = uint16_t(block.depth);
    EXPECT_TRUE(kernel.run(*machine, grid, threads, shared)) << machine->fault().detail;
    return machine->modelledSeconds();
  }
};

TEST(TimeModel, ACoalescedCopyBeatsAStridedOne) {
  Bench x;
  auto copy = [&](unsigned stride) {
    return x.seconds({1, 1, 0, 34}, 1024, 256, 0, [&, stride](kl_thread *self) {
      uint32_t i = globalIndex(self) * stride % (1 << 22);
      load(self, x.a + i, x.get);
      store(self, x.c + i, 1.0f, x.put);
    });
  };
  EXPECT_GT(copy(16), 1.5 * copy(1));
}

TEST(TimeModel, WideLoadsBeatScalarOnesAtLowOccupancy) {
  Bench x;
  double scalar = x.seconds({1, 1, 0, 34}, 132, 64, 0, [&](kl_thread *self) {
    for (unsigned i = 0; i < 64; ++i) {
      self->blockCounts[0]++;
      uint32_t at = i * 8448 + globalIndex(self);
      load(self, x.a + at, x.get, i);
      store(self, x.c + at, 1.0f, x.put, i);
    }
  });
  double wide = x.seconds({1, 1, 0, 34}, 132, 64, 0, [&](kl_thread *self) {
    for (unsigned i = 0; i < 16; ++i) {
      self->blockCounts[0]++;
      uint32_t at = 4 * (i * 8448 + globalIndex(self));
      kl_load(self, x.a + at, 16, x.get16, i);
      kl_store(self, x.c + at, 16, x.put16, i);
    }
  });
  EXPECT_GT(scalar, 1.5 * wide);
}

TEST(TimeModel, ConflictFreeSharedAccessBeatsConflicts) {
  Bench x;
  auto run = [&](unsigned stride) {
    return x.seconds({1, 1, 0, 34}, 264, 256, 36864, [&, stride](kl_thread *self) {
      auto *tile = reinterpret_cast<float *>(self->shared);
      for (unsigned i = 0; i < 32; ++i) {
        self->blockCounts[0]++;
        load(self, &tile[(self->lane * stride + i) % 9216], x.readA, i);
      }
    });
  };
  EXPECT_GT(run(32), 3 * run(33));
}

constexpr unsigned n = 128, tile = 16;
double naiveProduct(Bench &x) {
  return x.seconds({2, 0, 1, 34}, n * n / 256, 256, 0, [&](kl_thread *self) {
    uint32_t row = self->ctaid[0] / (n / tile) * tile + self->tid[0] / tile, column = self->ctaid[0] % (n / tile) * tile + self->tid[0] % tile;
    for (unsigned k = 0; k < n; ++k) {
      self->blockCounts[0]++;
      load(self, x.a + row * n + k, x.get, k + 1);
      load(self, x.b + k * n + column, x.get2, k + 1);
    }
    store(self, x.c + row * n + column, 1.0f, x.put);
  });
}

/// One pass of the basic block is one tile: 16 steps of k, unrolled.
double tiledProduct(Bench &x, bool doubleBuffered) {
  return x.seconds({34, 2, 16, 30 + 16 * 4}, n * n / 256, 256, doubleBuffered ? 4096 : 2048, [&, doubleBuffered](kl_thread *self) {
    auto *shared = reinterpret_cast<float *>(self->shared);
    uint32_t ty = self->tid[0] / tile, tx = self->tid[0] % tile;
    uint32_t row = self->ctaid[0] / (n / tile) * tile + ty, column = self->ctaid[0] % (n / tile) * tile + tx;
    auto fetch = [&](unsigned k, uint64_t key) {
      load(self, x.a + row * n + k * tile + tx, x.get, key);
      load(self, x.b + (k * tile + ty) * n + column, x.get2, key);
    };
    auto stage = [&](float *to, uint64_t key) {
      store(self, to + ty * tile + tx, 1.0f, x.tileA, key);
      store(self, to + 256 + ty * tile + tx, 1.0f, x.tileB, key);
    };
    auto use = [&](float *from, uint64_t key) {
      for (unsigned k = 0; k < tile; ++k) {
        load(self, from + ty * tile + k, x.readA, key * 100 + k);
        load(self, from + 256 + k * tile + tx, x.readB, key * 100 + k);
      }
    };
    if (doubleBuffered) {
      fetch(0, 1000);
      stage(shared, 1000);
      kl_barrier(self, 0, 0, x.barrier, 1000);
    }
    for (unsigned k = 0; k < n / tile; ++k) {
      self->blockCounts[0]++;
      if (!doubleBuffered) {
        fetch(k, k + 1);
        stage(shared, k + 1);
        kl_barrier(self, 0, 0, x.barrier, k);
        use(shared, k + 1);
        kl_barrier(self, 0, 0, x.barrier, k + 100);
        continue;
      }
      if (k + 1 < n / tile) fetch(k + 1, k + 1);
      use(shared + k % 2 * 512, k + 1);
      if (k + 1 < n / tile) stage(shared + (k + 1) % 2 * 512, k + 1);
      kl_barrier(self, 0, 0, x.barrier, k);
    }
    store(self, x.c + row * n + column, 1.0f, x.put);
  });
}

TEST(TimeModel, ATiledProductBeatsAnUntiledOne) {
  Bench x;
  EXPECT_GT(naiveProduct(x), 1.2 * tiledProduct(x, false));
}

TEST(TimeModel, DoubleBufferingGainsALittle) {
  Bench x;
  double single = tiledProduct(x, false), both = tiledProduct(x, true);
  EXPECT_GT(single, 1.02 * both);
  EXPECT_LT(single, 2 * both);
}

TEST(TimeModel, ABlockARowBeatsAThreadARowOnFewLongRows) {
  Bench x;
  constexpr unsigned rows = 64, columns = 4096;
  double threads = x.seconds({1, 0, 1, 38}, rows / 32, 32, 0, [&](kl_thread *self) {
    for (unsigned i = 0; i < columns; ++i) {
      self->blockCounts[0]++;
      load(self, x.a + globalIndex(self) * columns + i, x.get, i + 1);
    }
  });
  double blocks = x.seconds({1, 0, 1, 38}, rows, 256, 0, [&](kl_thread *self) {
    for (unsigned i = self->tid[0]; i < columns; i += 256) {
      self->blockCounts[0]++;
      load(self, x.a + self->ctaid[0] * columns + i, x.get, i / 256 + 1);
    }
  });
  EXPECT_GT(threads, 10 * blocks);
}

TEST(TimeModel, MoreBlocksBeatOneBlockOnTheSameWork) {
  Bench x;
  auto run = [&](unsigned grid) {
    return x.seconds({1, 1, 0, 34}, grid, 256, 0, [&, grid](kl_thread *self) {
      for (unsigned i = 0; i < 256 / grid; ++i) {
        self->blockCounts[0]++;
        uint32_t at = (i * grid + self->ctaid[0]) * 256 + self->tid[0];
        load(self, x.a + at, x.get, i);
        store(self, x.c + at, 1.0f, x.put, i);
      }
    });
  };
  EXPECT_GT(run(1), 4 * run(64));
}

TEST(TimeModel, AtomicsToOneAddressCostMoreThanToMany) {
  Bench x;
  auto run = [&](bool one) {
    return x.seconds({0, 0, 0, 8}, 256, 256, 0, [&, one](kl_thread *self) {
      kl_atomic_rmw(self, x.a + (one ? 0 : globalIndex(self)), KL_FADD, KL_F32, 0x3F800000, KL_RELAXED | KL_SCOPE_DEVICE << 8, x.add, 0);
    });
  };
  EXPECT_GT(run(true), 3 * run(false));
}

TEST(TimeModel, TheSameLaunchAlwaysTakesTheSameTime) {
  Bench x;
  EXPECT_EQ(tiledProduct(x, true), tiledProduct(x, true));
}

TEST(TimeModel, OccupancyFollowsTheTightestResource) {
  Limits limits;
  EXPECT_EQ(blocksPerMultiprocessor(limits, 256, 32, 0), 8u);
  EXPECT_EQ(blocksPerMultiprocessor(limits, 256, 128, 0), 2u);
  EXPECT_EQ(blocksPerMultiprocessor(limits, 1024, 65, 0), 0u);
  EXPECT_EQ(blocksPerMultiprocessor(limits, 128, 32, 48 * 1024), 4u);
  EXPECT_EQ(blocksPerMultiprocessor(limits, 32, 32, 0), 32u);
}

} // namespace
