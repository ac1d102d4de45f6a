// The constants below and what is done with them are explained in docs/device/time-model.md; change both together.
#include "device/emulated/runtime/time_model.h"
#include <algorithm>
#include <cmath>

namespace klineage::emulated {
namespace {

// ---- the device: an H200 (GH100, SXM)
constexpr double clockHz = 1.98e9;
constexpr double dramBytesPerSecond = 4.8e12 * 0.88; ///< A plain copy reaches 0.87 to 0.88 of the peak.
constexpr double l2BytesPerSecond = 5.5e12;
constexpr double l2Bytes = 50e6;
constexpr double atomicsPerSecond = 1.0e9;             ///< Lanes, to one address.
constexpr double launchSeconds = 2.2e-6;             ///< Until the first block runs, and from the last to the end of the kernel.
constexpr double blockStartCycles = 200;             ///< Placing a block and its first instructions.
// ---- latencies, in cycles
constexpr double l1Latency = 33, l2Latency = 260, dramLatency = 560, nominalLoadLatency = 30;
constexpr double barrierCycles = 25;
// ---- one multiprocessor, warp instructions a cycle
constexpr double issueRate = 4, fp32Rate = 4, fp64Rate = 2, fp16Rate = 4, intRate = 2, intMulRate = 2, specialRate = 0.5, convertRate = 0.5,
                 loadStoreRate = 1, shuffleRate = 1, branchRate = 2;
constexpr double tensorFlopsPerCycle = 4096; ///< Dense f16 with f32 sums: 1024 fused products a cycle for each of 4 units, halved by mma.sync.
constexpr double l2ToMultiprocessor = 64;    ///< Bytes a cycle.
constexpr unsigned assumedRegisters = 32;

const char *const instructionNames[KL_INSTRUCTION_KINDS] = {
    "instructions_fp32", "instructions_fp32_fma", "instructions_fp64",    "instructions_fp16",       "instructions_int",
    "instructions_int_mul", "instructions_special", "instructions_convert", "instructions_load",     "instructions_store",
    "instructions_atomic", "instructions_branch", "instructions_barrier", "instructions_shuffle",    "instructions_vote",
    "instructions_tensor", "instructions_matrix_load", "instructions_copy_async", "instructions_other"};

/// A sum that is close to the larger of two when they differ, and above both when they are alike: overlap is never perfect.
double overlap(double a, double b) {
  constexpr double power = 4;
  double large = std::max(a, b), small = std::min(a, b);
  return large <= 0 ? 0 : large * std::pow(1 + std::pow(small / large, power), 1 / power);
}

} // namespace

double hostCopySeconds(size_t bytes) { return 1.5e-6 + 2.0 * double(bytes) / dramBytesPerSecond; }

LaunchProfile profileOf(const LaunchState &launch, const LaunchTotals &totals, unsigned knownRegisters) {
  LaunchProfile profile;
  Counters &c = profile.counters;
  double scale = launch.issued ? double(launch.gridBlocks) / double(launch.issued) : 1;
  for (unsigned i = 0; i < unsigned(Count::Size); ++i) c[name(Count(i))] = double(totals.counts[Count(i)]) * scale;

  // Instructions: each basic block's static mix, times how often warps (and threads) ran it.
  std::array<double, KL_INSTRUCTION_KINDS> byWarp{};
  double threadInstructions = 0, warpInstructions = 0;
  for (uint32_t b = 0; b < launch.kernel.blockCount; ++b) {
    const kl_block &block = launch.kernel.blocks[b];
    double times = double(totals.blocks.byWarp[b]) * scale, threadTimes = double(totals.blocks.byThread[b]) * scale;
    for (unsigned kind = 0; kind < KL_INSTRUCTION_KINDS; ++kind) {
      byWarp[kind] += times * block.mix[kind];
      threadInstructions += threadTimes * block.mix[kind];
    }
  }
  for (unsigned kind = 0; kind < KL_INSTRUCTION_KINDS; ++kind) {
    c[instructionNames[kind]] = byWarp[kind];
    warpInstructions += byWarp[kind];
  }
  c["instructions"] = warpInstructions;
  c["thread_instructions"] = threadInstructions;
  double fp32Flops = 0;
  for (uint32_t b = 0; b < launch.kernel.blockCount; ++b)
    fp32Flops += double(totals.blocks.byThread[b]) * scale *
                 (launch.kernel.blocks[b].mix[KL_FP32] + 2.0 * launch.kernel.blocks[b].mix[KL_FP32_FMA]);
  c["fp32_flops"] = fp32Flops;

  // Traffic. Loads that miss the block's share of the L1, all stores, atomics and asynchronous copies go to the L2. The DRAM sees each
  // distinct sector once, and the rest as far as the launch's footprint does not fit the L2.
  auto get = [&](Count count) { return double(totals.counts[count]) * scale; };
  double distinctRead = double(launch.memory.distinctSectors(false)) * scale, distinctWritten = double(launch.memory.distinctSectors(true)) * scale;
  double footprint = 32 * double(launch.memory.distinctSectorsOfEither()) * scale;
  double missed = get(Count::global_load_sectors) - get(Count::global_load_l1_hit_sectors);
  double l2Reads = missed + get(Count::async_copy_sectors), l2Writes = get(Count::global_store_sectors) + 2 * get(Count::global_atomic_sectors);
  distinctRead = std::min(distinctRead, l2Reads), distinctWritten = std::min(distinctWritten, l2Writes);
  double spill = footprint > l2Bytes ? 1 - l2Bytes / footprint : 0;
  double dramRead = 32 * (distinctRead + (l2Reads - distinctRead) * spill);
  double dramWritten = 32 * (distinctWritten + (l2Writes - distinctWritten) * spill);
  c["l2_read_sectors"] = l2Reads;
  c["l2_write_sectors"] = l2Writes;
  c["dram_read_bytes"] = dramRead;
  c["dram_write_bytes"] = dramWritten;

  // Occupancy and waves.
  const Limits &limits = launch.options.limits;
  unsigned threads = launch.launch.block[0] * launch.launch.block[1] * launch.launch.block[2];
  unsigned registers = knownRegisters ? knownRegisters : assumedRegisters;
  double together = std::max(1u, blocksPerMultiprocessor(limits, threads, registers, launch.sharedBytes));
  double warpsPerBlock = double((threads + 31) / 32), blocks = double(launch.gridBlocks), units = limits.multiprocessors;
  double share = std::ceil(blocks / units) / blocks;  // of all work, what the busiest multiprocessor has
  double resident = std::min(together, std::ceil(blocks / units));
  c["occupancy_warps"] = resident * warpsPerBlock; // of the last launch; Machine sums, so divide by launches

  // What keeps each unit of the busiest multiprocessor busy, in cycles.
  double sharedFronts = get(Count::shared_load_wavefronts) + get(Count::shared_store_wavefronts) + get(Count::matrix_load_wavefronts) +
                        2 * (get(Count::shared_atomic_requests) + get(Count::shared_atomic_conflicts));
  // The L1 looks up one line a cycle, and moves 128 bytes.
  double l1Fronts = std::max(get(Count::global_load_lines), get(Count::global_load_sectors) / 4) +
                    std::max(get(Count::global_store_lines), get(Count::global_store_sectors) / 4) + get(Count::async_copy_sectors) / 4 +
                    get(Count::local_bytes) / 128;
  double memoryInstructions = byWarp[KL_LOAD] + byWarp[KL_STORE] + byWarp[KL_ATOMIC] + byWarp[KL_MATRIX_LOAD] + byWarp[KL_COPY_ASYNC];
  double shared = byWarp[KL_SHUFFLE] / shuffleRate + memoryInstructions / loadStoreRate;
  struct Pipe {
    const char *name;
    double cycles;
  };
  double issued = warpInstructions + get(Count::shared_load_conflicts) + get(Count::shared_store_conflicts);
  Pipe pipes[] = {
      {"issue", issued / issueRate},
      {"fp32", (byWarp[KL_FP32] + byWarp[KL_FP32_FMA]) / fp32Rate},
      {"fp64", byWarp[KL_FP64] / fp64Rate},
      {"fp16", byWarp[KL_FP16] / fp16Rate},
      {"int", byWarp[KL_INT] / intRate / 2 + byWarp[KL_INT_MUL] / intMulRate},
      {"special", byWarp[KL_SPECIAL] / specialRate + byWarp[KL_CONVERT] / convertRate / 2},
      {"branch", byWarp[KL_BRANCH] / branchRate},
      {"load_store", std::max(shared, sharedFronts + l1Fronts)},
      {"tensor", get(Count::tensor_flops) / tensorFlopsPerCycle},
      {"l2_port", 32 * (l2Reads + l2Writes) / l2ToMultiprocessor},
  };
  double busiest = 0;
  for (const Pipe &pipe : pipes) {
    double cycles = pipe.cycles * share;
    busiest = std::max(busiest, cycles);
    c[std::string("model_cycles_") + pipe.name] = cycles;
  }

  // How long one block takes when nothing else is in its way: its longest warp's chain, and on top its waits for global memory. The chain
  // has the latency of a hit for every load; a wait adds what is beyond that, less the work that was found to lie between.
  double sectors = std::max(1.0, get(Count::global_load_sectors) + get(Count::async_copy_sectors));
  double hit = get(Count::global_load_l1_hit_sectors) / sectors;
  double fromDram = l2Reads > 0 ? std::min(1.0, dramRead / 32 / l2Reads) : 0;
  double missLatency = l2Latency + fromDram * (dramLatency - l2Latency);
  double globalLatency = hit * l1Latency + (1 - hit) * missLatency;
  double warps = std::max(1.0, double(totals.counts[Count::warps]));
  double chainOfWarp = double(totals.warpChainSum) / warps;
  double chainOfBlock = launch.issued ? double(totals.chainSum) / double(launch.issued) : 0;
  double unevenness = chainOfWarp > 0 ? chainOfBlock / chainOfWarp : 1; // the longest warp waits as much more often
  double wait = std::max(0.0, globalLatency - nominalLoadLatency);
  double readsOfWarp = (totals.counts[Count::shared_load_requests] + totals.counts[Count::matrix_load_requests]) / warps;
  double cyclesPerRead = readsOfWarp > 0 ? std::min(chainOfWarp / readsOfWarp, nominalLoadLatency) : 0;
  double between = totals.coveredRounds ? double(totals.hiddenReads) / double(totals.coveredRounds) * cyclesPerRead : 0;
  double exposed = (double(totals.bareRounds) * wait + double(totals.coveredRounds) * std::max(0.0, wait - between)) / warps * unevenness;
  double barriersOfBlock = get(Count::barriers) / std::max(1.0, blocks);
  double blockLatency = blockStartCycles + chainOfBlock + exposed + barriersOfBlock * barrierCycles;
  double rounds = std::max(1.0, std::ceil(blocks / units) / together);
  double latencyCycles = rounds * blockLatency;
  // One very long block (an uneven grid) holds the end back.
  double straggler = chainOfBlock > 0 ? double(totals.chainLongest) / chainOfBlock * blockLatency : 0;
  latencyCycles = std::max(latencyCycles, straggler);
  c["model_cycles_latency"] = latencyCycles;
  c["model_cycles_exposed"] = exposed;

  double multiprocessorSeconds = overlap(busiest, latencyCycles) / clockHz;
  double l2Seconds = 32 * (l2Reads + l2Writes) / l2BytesPerSecond;
  double dramSeconds = (dramRead + dramWritten) / dramBytesPerSecond;
  c["model_seconds_multiprocessor"] = multiprocessorSeconds;
  c["model_seconds_l2"] = l2Seconds;
  c["model_seconds_dram"] = dramSeconds;
  // Atomics to one address go one after the other in the L2.
  uint64_t hottest = 0;
  for (auto &[address, lanes] : totals.atomicsAt) hottest = std::max(hottest, lanes);
  double atomicSeconds = double(hottest) * scale / atomicsPerSecond;
  c["model_seconds_atomics"] = atomicSeconds;
  c["registers_assumed"] = knownRegisters ? 0 : assumedRegisters;
  profile.seconds = launchSeconds + overlap(overlap(overlap(multiprocessorSeconds, l2Seconds), dramSeconds), atomicSeconds);
  return profile;
}

} // namespace klineage::emulated
