// barrier: a block's threads no longer wait for each other, or not where it matters.
//
//   barrier_dropped     tile[t] = x[i]; __syncthreads(); use(tile);   ->   tile[t] = x[i]; use(tile);
//   barrier_moved_up    the same, the barrier before the nearest earlier statement that touches memory
//   barrier_moved_down  ... behind the nearest later one
//   barrier_in_part     every second thread waits
#include "mutate/facts.h"

namespace klineage::mutate {
namespace {

using namespace clang;

void find(const Body &body, Planter &planter) {
  body.each<CallExpr>([&](const CallExpr *call) {
    if (!isBlockBarrier(call) || !isWholeStatement(body, call)) return;
    const std::string nothing = "(void)0", again = body.text(call);
    planter.replace(body, "barrier_dropped", call, nothing, {"race", "uninitialized_read"});
    planter.replace(body, "barrier_in_part", call, "if (threadIdx.x % 2 == 0) " + again, {"barrier_divergence", "race", "hang", "uninitialized_read"});
    auto *block = llvm::dyn_cast<CompoundStmt>(body.parent(call));
    if (!block) return;
    std::vector<const Stmt *> siblings(block->body_begin(), block->body_end());
    size_t own = std::find(siblings.begin(), siblings.end(), call) - siblings.begin();
    for (size_t i = own; i-- > 0;)
      if (touchesSharedState(siblings[i])) {
        planter.plant(body, "barrier_moved_up", call->getSourceRange(), {{siblings[i]->getSourceRange(), again + "; ", true}, {call->getSourceRange(), nothing}});
        break;
      }
    // What follows the statement is its next sibling, so that its own end (a semicolon or a brace) need not be known.
    for (size_t i = own + 1; i + 1 < siblings.size(); ++i)
      if (touchesSharedState(siblings[i])) {
        planter.plant(body, "barrier_moved_down", call->getSourceRange(), {{call->getSourceRange(), nothing}, {siblings[i + 1]->getSourceRange(), again + "; ", true}});
        break;
      }
  });
}

} // namespace

extern const Operator barrier = {"drop or move a block's barrier", find, nullptr};

} // namespace klineage::mutate
