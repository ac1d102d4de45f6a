// Environment: what is known from outside the code: shapes, alignments, aliasing, the device's limits.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace klineage {

/// What the workload says of one launcher argument. Names are the launcher's parameter names.
struct ArgumentFacts {
  std::string name;
  bool isPointer = false;
  unsigned alignment = 0;           ///< Bytes that the base address is a multiple of; 0: unknown.
  std::vector<int64_t> values;      ///< Scalars: the value in each instance. Pointers: the number of elements in each.
  bool mayAlias = false;            ///< The workload allows it to overlap another argument.
};

struct DeviceLimits {
  unsigned sm = 90;
  unsigned maxThreadsPerBlock = 1024;
  unsigned maxRegistersPerThread = 255;
  uint64_t sharedBytesPerBlock = 48 * 1024;       ///< Without opting in.
  uint64_t sharedBytesPerBlockOptIn = 227 * 1024;
  unsigned warpSize = 32;
};

struct Environment {
  std::vector<ArgumentFacts> arguments; ///< In launcher order; empty when no workload is given (a query by code).
  DeviceLimits device;
  std::optional<double> relativeTolerance;        ///< Of the workload: how much reassociation may change the result.
  const ArgumentFacts *find(const std::string &name) const {
    for (const auto &argument : arguments)
      if (argument.name == name) return &argument;
    return nullptr;
  }
};

} // namespace klineage
