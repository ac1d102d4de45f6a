// From several outputs a thread to one: the body of a lane under the usual indices, and a launch with as many threads as there are outputs.
#include "step/coarsening.h"
#include "step/launch_text.h"
#include "step/source_text.h"
#include "step/tidy.h"

namespace klineage {

using namespace clang;

namespace {

std::string gridAlong(const Unit &unit, const Coarsening &coarse, const OutputAxis &axis, const Launch &launch, const LaunchShape &grid) {
  std::string threads = std::to_string(axis.threads);
  if (axis.extent && *axis.extent < launch.values.size()) {
    const IndexExpr &extent = launch.values[*axis.extent];
    // As many blocks as the extent asks for, before and after: nothing is stored beyond it.
    if (launch.gridShape[axis.blockAxis] == quotient(extent + IndexExpr(axis.tile - 1), IndexExpr(axis.tile))) {
      std::string text = unit.text(launch.arguments[*axis.extent]->getSourceRange(), Side::Host);
      if (!text.empty() && axis.threads > 1) return "(" + factorText(text) + " + " + std::to_string(axis.threads - 1) + ") / " + threads;
      if (!text.empty()) return text;
    }
  }
  int64_t times = axis.tile / axis.threads;
  const std::string &blocks = grid.extent[axis.blockAxis];
  if (times == 1) return blocks;
  if (auto count = launch.gridShape[axis.blockAxis].constant()) return std::to_string(*count * times);
  return factorText(blocks) + " * " + std::to_string(times);
}

} // namespace

Result<Edits> spreadOverThreads(const Version &version, const Coarsening &coarse) {
  const KernelModel &kernel = *coarse.kernel;
  const Unit &unit = *kernel.unit;
  auto body = plainBody(coarse, /*all=*/true);
  if (!body) return body.error();
  auto place = unit.place(kernel.function->getBody());
  if (!place) return place.error();
  std::string text = "{\n";
  for (unsigned axis : {1u, 0u})
    for (const OutputAxis &each : coarse.axes) {
      std::string letter = axis ? ".y" : ".x";
      std::string type = each.wideType.empty() ? "int" : each.wideType, cast = each.wideType.empty() ? "" : "(" + type + ")";
      if (each.axis == axis) text += "const " + type + " " + each.name + " = " + cast + "blockIdx" + letter + " * blockDim" + letter + " + threadIdx" + letter + ";\n";
    }
  Edits edits{{place->file, place->offset, place->length, text + *body + "}"}};
  for (const Launch &launch : kernel.launches) {
    auto grid = launchShape(unit, launch, launch.grid), block = launchShape(unit, launch, launch.block);
    if (!grid) return grid.error();
    if (!block) return block.error();
    std::array<std::string, 3> blocks = grid->extent, threads = block->extent;
    for (unsigned axis = 0; axis < 2; ++axis) blocks[axis] = "1", threads[axis] = coarse.sameBlock ? threads[axis] : "1";
    if (!coarse.sameBlock) threads[2] = "1";
    for (const OutputAxis &axis : coarse.axes) {
      blocks[axis.axis] = gridAlong(unit, coarse, axis, launch, *grid);
      if (!coarse.sameBlock) threads[axis.axis] = std::to_string(axis.threads);
    }
    edits.push_back(withExtents(*grid, blocks));
    if (!coarse.sameBlock) edits.push_back(withExtents(*block, threads));
  }
  Draft draft(version);
  if (Status applied = draft.apply(coarse.inlining); !applied) return applied.error();
  if (Status applied = draft.apply(edits); !applied) return applied.error();
  if (Status tidied = tidy(draft, kernel); !tidied) return tidied.error();
  for (int round = 0; round < 20; ++round) {
    const KernelModel *now = draft.kernel(kernel);
    if (!now) return ourFault("the kernel is gone after a rewrite");
    Edits more = inlineTemporaries(*now);
    if (more.empty()) more = joinDeclarations(*now);
    if (more.empty()) more = returnEarly(*now);
    if (more.empty()) break;
    if (Status applied = draft.apply(more); !applied) return applied.error();
  }
  if (Status tidied = tidy(draft, kernel); !tidied) return tidied.error();
  return draft.finish();
}

} // namespace klineage
