// Coarsening: a thread that computes several outputs, and the same kernel with one thread an output.
//
// An output of a thread is a lane. Lanes are told apart by what the text stores: the element of a register array (register_block), or the
// iteration of a loop (thread_coarsen). Which element of which output a lane is follows from the index of its store: one coordinate for
// each stride, and every coordinate a tile of its block plus something that threads and lanes decide. When threads and lanes together
// hit each place of the tile once, any launch that covers the output covers it in the same way, and the plain form takes the usual one.
// The plain body is written for one lane; it is right when every lane gives the same text.
#pragma once
#include "step/draft.h"
#include "step/remap.h"

namespace klineage {

/// One coordinate of the output, along which blocks tile it.
struct OutputAxis {
  IndexExpr stride;                          ///< What it is multiplied by in the output's index: 1, n.
  unsigned blockAxis = 0;                    ///< Whose blockIdx counts its tiles.
  int64_t tile = 1;                          ///< Outputs a block covers along it.
  int64_t lanes = 1;                         ///< Of them a thread.
  std::optional<unsigned> extent;            ///< The kernel's parameter that guards every store: coordinate < parameter.
  std::string name;                          ///< In the plain form,
  std::string wideType;                      ///< and its type where the kernel counts it in more than 32 bits.
  unsigned axis = 0;                         ///< Of the plain launch: 0 is x.
  int64_t threads = 1;                       ///< Of a plain block along it.
};

/// One output of a thread.
struct Lane {
  std::vector<int64_t> element;              ///< Of the accumulator array, or the value of the loop's variable.
  std::vector<IndexExpr> place;              ///< One for each axis, over block and thread indices; block dimensions put in.
};

struct Coarsening {
  const KernelModel *kernel = nullptr;         ///< Where stores through a helper were put in place first, of that text.
  Edits inlining;                              ///< What leads to that text,
  std::shared_ptr<const Draft> inlined;        ///< and its owner.
  const clang::VarDecl *accumulator = nullptr; ///< Null: the lanes are the iterations of the only spread loop.
  std::vector<const Loop *> spread;            ///< Loops whose iterations belong to different lanes.
  std::vector<OutputAxis> axes;
  std::vector<Lane> lanes;
  bool sameBlock = false;                      ///< The plain form keeps the shape of the block.
  int64_t alongColumns() const;                ///< Lanes along the x axis of the plain launch,
  int64_t alongRows() const;                   ///< and along all others.
};

struct CoarseningFinding {
  std::optional<Coarsening> found;
  std::optional<Decline> decline;
};
CoarseningFinding findRegisterBlock(const Version &version, const KernelModel &kernel);
CoarseningFinding findThreadLoop(const Version &version, const KernelModel &kernel);

/// The body of the plain form, or why there is none. `all`: every lane is written and compared; else a few that differ in each axis.
Result<std::string> plainBody(const Coarsening &coarse, bool all);

/// One thread an output: device and launch together.
Result<Edits> spreadOverThreads(const Version &version, const Coarsening &coarse);

/// A local that is given one value and read once, soon after, becomes that value.
Edits inlineTemporaries(const KernelModel &kernel);
/// `float x; x = e;` becomes one statement.
Edits joinDeclarations(const KernelModel &kernel);

} // namespace klineage
