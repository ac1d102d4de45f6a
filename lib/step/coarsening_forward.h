// From one thread an output to several: the way forward of register_block and thread_coarsen.
#pragma once
#include "step/coarsening.h"
#include "step/known.h"

namespace klineage {

/// `row = blockIdx.y * blockDim.y + threadIdx.y`, a coordinate of the one output of a thread.
struct OutputCoordinate {
  const clang::VarDecl *variable = nullptr;
  const clang::DeclStmt *declaration = nullptr;
  unsigned axis = 0;
  std::optional<int64_t> threads;  ///< Of a block along it, when the launch says so.
  bool open = true;                ///< Some access that depends on it is not guarded by coordinate < something.
};

struct SingleOutput {
  const KernelModel *kernel = nullptr;
  std::vector<OutputCoordinate> coordinates;         ///< y first.
  std::vector<const clang::Stmt *> statements;       ///< What follows; of a branch around everything, its body.
  std::vector<Conjunct> guards;                      ///< What holds where they run.
  const clang::Stmt *first = nullptr, *last = nullptr; ///< The text that they and the guard take.
  int otherIndexUses = 0;                            ///< Places that ask for a thread or block index beside the coordinates.
  int varyingLoops = 0;                              ///< Loops whose bounds depend on a coordinate.
  int loops = 0;
  int reused = 0;                                    ///< Loads in loops that serve more than one output.
  const OutputCoordinate *along(unsigned axis) const;
};

struct SingleOutputFinding {
  std::optional<SingleOutput> found;
  std::optional<Decline> decline;
};
SingleOutputFinding findSingleOutput(const Version &version, const KernelModel &kernel);

/// Where a step may go forward from one output a thread: one site a kernel, because the whole of it is rewritten. `takes` says which the step
/// wants, `bind` gives it the names that its conditions use; with `says` what is in the way of a single output is declined by name.
Detection sitesOfSingleOutputs(const Version &version, bool (*takes)(const SingleOutput &), void (*bind)(Site &, const SingleOutput &), bool says);

/// A thread computes rows x columns outputs, a block's height and width apart, with what it holds for each in arrays.
Result<Edits> toRegisterBlock(const Version &version, const SingleOutput &single, int64_t rows, int64_t columns);

/// A thread computes that many outputs one after another, along y where there is one.
Result<Edits> toThreadLoop(const Version &version, const SingleOutput &single, int64_t outputs);

} // namespace klineage
