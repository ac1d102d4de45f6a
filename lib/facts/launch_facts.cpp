// Facts about the launch, the device and the tolerance.
#include "facts/facts.h"
#include <algorithm>

namespace klineage {

namespace {

IndexExpr blockSizeOf() { return IndexExpr::of(blockDim(0)) * IndexExpr::of(blockDim(1)) * IndexExpr::of(blockDim(2)); }

template <unsigned axis> Operand blockAxis(const FactScope &, const std::vector<Operand> &) { return Operand::of(IndexExpr::of(blockDim(axis))); }
template <unsigned axis> Operand gridAxis(const FactScope &, const std::vector<Operand> &) { return Operand::of(IndexExpr::of(gridDim(axis))); }
Operand blockSize(const FactScope &, const std::vector<Operand> &) { return Operand::of(blockSizeOf()); }

Operand sharedBytes(const FactScope &scope, const std::vector<Operand> &) {
  int64_t fixed = 0;
  for (const Buffer &buffer : scope.kernel.buffers)
    if (buffer.space == Space::Shared && buffer.bytes) fixed += *buffer.bytes;
  IndexExpr dynamic;
  bool isFirst = true;
  for (const Launch &launch : scope.kernel.launches) {
    if (!isFirst && !(launch.sharedSize == dynamic)) return Operand::missing("the launches ask for different amounts of dynamic shared memory");
    dynamic = launch.sharedSize;
    isFirst = false;
  }
  if (dynamic.constant()) return Operand::of(IndexExpr(fixed) + dynamic);
  // The launcher's parameters are not the kernel's; the largest that the workload asks for is what must fit.
  size_t count = 0;
  for (const auto &argument : scope.environment.arguments) count = std::max(count, argument.values.size());
  int64_t most = 0;
  for (size_t i = 0; i < count; ++i) {
    std::map<std::string, IndexExpr> known;
    for (const AtomRef &atom : dynamic.atoms())
      if (const ArgumentFacts *a = atom->decl ? scope.environment.find(atom->decl->getNameAsString()) : nullptr; a && i < a->values.size()) known[atom->key] = a->values[i];
    auto value = dynamic.substitute(known).constant();
    if (!value) { count = 0; break; }
    most = std::max(most, *value);
  }
  if (!count) return Operand::missing("the dynamic shared memory is " + spelledOr(scope, dynamic) + " bytes");
  return Operand::of(fixed + most);
}

Operand sharedLimit(const FactScope &scope, const std::vector<Operand> &) { return Operand::of(int64_t(scope.environment.device.sharedBytesPerBlock)); }
Operand sharedLimitOptIn(const FactScope &scope, const std::vector<Operand> &) { return Operand::of(int64_t(scope.environment.device.sharedBytesPerBlockOptIn)); }
Operand arch(const FactScope &scope, const std::vector<Operand> &) { return Operand::of(int64_t(scope.environment.device.sm)); }
Operand maxThreads(const FactScope &scope, const std::vector<Operand> &) { return Operand::of(int64_t(scope.environment.device.maxThreadsPerBlock)); }
Operand warpSize(const FactScope &scope, const std::vector<Operand> &) { return Operand::of(int64_t(scope.environment.device.warpSize)); }
Operand maxRegisters(const FactScope &scope, const std::vector<Operand> &) { return Operand::of(int64_t(scope.environment.device.maxRegistersPerThread)); }
Operand registers(const FactScope &, const std::vector<Operand> &) { return Operand::missing("registers are counted when the gate compiles, not before"); }

Operand warpMultiple(const FactScope &scope, const std::vector<Operand> &arguments) {
  auto value = numberOf(scope, arguments[0]);
  if (!value) return Operand::of(unknown(arguments[0].label + " is no integer"));
  int64_t warp = scope.environment.device.warpSize;
  return Operand::of(overCases(scope, arguments[0], *value, [&](const IndexExpr &v) {
    if (auto c = v.constant()) return *c > 0 && *c % warp == 0 ? Truth::Holds : Truth::Violated;
    return knownDivisor(v) % warp == 0 ? Truth::Holds : Truth::Unknown;
  }, "is whole warps", "is no whole number of warps"));
}

Operand singleWarp(const FactScope &scope, const std::vector<Operand> &) {
  Operand size = Operand::of(blockSizeOf());
  size.label = "the block size";
  int64_t warp = scope.environment.device.warpSize;
  return Operand::of(overCases(scope, size, size.number, [&](const IndexExpr &v) {
    if (auto c = v.constant()) return *c <= warp ? Truth::Holds : Truth::Violated;
    return isNonNegative(IndexExpr(warp) - v) ? Truth::Holds : Truth::Unknown;
  }, "is at most one warp", "is more than one warp"));
}

Operand launched(const FactScope &scope, const std::vector<Operand> &) {
  size_t count = scope.kernel.launches.size();
  return Operand::of(count ? holds("the kernel is launched at " + std::to_string(count) + (count == 1 ? " place" : " places")) : violated("no launch of the kernel was found in the host code"));
}

Operand launches(const FactScope &scope, const std::vector<Operand> &) { return Operand::of(int64_t(scope.kernel.launches.size())); }

Operand tolerance(const FactScope &scope, const std::vector<Operand> &) {
  if (!scope.environment.relativeTolerance) return Operand::missing("no workload states a tolerance");
  Operand value;
  value.kind = Operand::Real;
  value.real = *scope.environment.relativeTolerance;
  return value;
}

/// Reordering sums changes results by about the type's rounding error; a tolerance below it admits none.
Operand reassociation(const FactScope &scope, const std::vector<Operand> &arguments) {
  if (!scope.environment.relativeTolerance) return Operand::of(unknown("no workload states a tolerance"));
  double have = *scope.environment.relativeTolerance, need = 1.2e-7;
  if (!arguments.empty()) {
    if (arguments[0].kind == Operand::Real) need = arguments[0].real;
    else if (auto number = numberOf(scope, arguments[0]); number && number->constant()) need = double(*number->constant());
    else return Operand::of(unknown(arguments[0].label + " is no number"));
  }
  char text[128];
  snprintf(text, sizeof text, "the workload tolerates a relative error of %g, reordering needs %g", have, need);
  return Operand::of(have >= need ? holds(text) : violated(text));
}

} // namespace

void addLaunchFacts(std::vector<Fact> &table) {
  table.insert(table.end(), {
      {"arch", "arch", "a number: the device's architecture, 90 for sm_90", 0, 0, arch},
      {"block_size", "block_size", "a number: threads of a block", 0, 0, blockSize},
      {"block_size_x", "block_size_x", "a number: threads of a block along x", 0, 0, blockAxis<0>},
      {"block_size_y", "block_size_y", "a number: threads of a block along y", 0, 0, blockAxis<1>},
      {"block_size_z", "block_size_z", "a number: threads of a block along z", 0, 0, blockAxis<2>},
      {"grid_size_x", "grid_size_x", "a number: blocks of the grid along x", 0, 0, gridAxis<0>},
      {"grid_size_y", "grid_size_y", "a number: blocks of the grid along y", 0, 0, gridAxis<1>},
      {"grid_size_z", "grid_size_z", "a number: blocks of the grid along z", 0, 0, gridAxis<2>},
      {"launched", "launched", "a launch of the kernel is found in the host code", 0, 1, launched},
      {"launches", "launches", "a number: places in the host code that launch the kernel", 0, 0, launches},
      {"limit", "limit", "a number: the same as shared_limit", 0, 0, sharedLimit},
      {"max_registers", "max_registers", "a number: registers that the device gives a thread", 0, 0, maxRegisters},
      {"max_threads", "max_threads", "a number: threads that the device allows a block", 0, 0, maxThreads},
      {"reassociation_allowed", "reassociation_allowed", "the tolerance is at least the rounding error of one float operation", 0, 0, reassociation},
      {"reassociation_within", "reassociation_within(error)", "the workload's relative tolerance is at least this error", 1, 1, reassociation},
      {"registers", "registers", "a number: registers a thread needs; always unknown before the gate compiles", 0, 0, registers},
      {"shared_bytes", "shared_bytes", "a number: static and dynamic shared memory of a block, the most that an instance asks for", 0, 0, sharedBytes},
      {"shared_limit", "shared_limit", "a number: bytes of shared memory a block gets without opting in", 0, 0, sharedLimit},
      {"shared_limit_opt_in", "shared_limit_opt_in", "a number: bytes of shared memory a block gets when the host opts in", 0, 0, sharedLimitOptIn},
      {"single_warp", "single_warp", "a block has no more threads than a warp", 0, 0, singleWarp},
      {"tolerance", "tolerance", "a real number: the workload's relative tolerance", 0, 0, tolerance},
      {"warp_multiple", "warp_multiple(n)", "n is a whole number of warps, at least one", 1, 1, warpMultiple},
      {"warp_size", "warp_size", "a number: threads of a warp", 0, 0, warpSize},
  });
}

} // namespace klineage
