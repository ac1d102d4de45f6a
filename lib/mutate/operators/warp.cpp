// warp: lanes of a warp no longer wait for each other, or name the wrong ones.
//
//   syncwarp_dropped     __syncwarp();                          ->  nothing
//   mask_bit_dropped     __shfl_xor_sync(0xffffffff, v, 16)     ->  one lane fewer in the mask
//   shuffle_lane         __shfl_xor_sync(m, v, o)               ->  __shfl_xor_sync(m, v, (o) + 1)
//   shuffle_direction    __shfl_down_sync                       ->  __shfl_up_sync, and the other way
#include "mutate/facts.h"

namespace klineage::mutate {
namespace {

using namespace clang;

bool namesLanes(llvm::StringRef callee) {
  return callee.ends_with("_sync") && (callee.starts_with("__shfl") || callee.starts_with("__ballot") || callee.starts_with("__any") || callee.starts_with("__all") ||
                                       callee.starts_with("__reduce") || callee.starts_with("__match"));
}

void dropLane(const Body &body, Planter &planter, const Expr *mask) {
  Expr::EvalResult value;
  if (mask->isValueDependent() || !mask->EvaluateAsInt(value, body.ast())) return;
  uint32_t lanes = uint32_t(value.Val.getInt().getZExtValue());
  if (lanes == 0) return;
  uint32_t highest = 1u << (31 - llvm::countl_zero(lanes));
  if (lanes == highest) return; // an empty mask is another fault
  char text[24];
  std::snprintf(text, sizeof text, "0x%08xu", lanes & ~highest);
  planter.replace(body, "mask_bit_dropped", mask, text);
}

void find(const Body &body, Planter &planter) {
  body.each<CallExpr>([&](const CallExpr *call) {
    llvm::StringRef callee = calleeName(call);
    if (isWarpBarrier(call)) {
      if (isWholeStatement(body, call)) planter.replace(body, "syncwarp_dropped", call, "(void)0", {"race", "uninitialized_read"});
      if (call->getNumArgs() == 1 && !llvm::isa<CXXDefaultArgExpr>(call->getArg(0))) dropLane(body, planter, call->getArg(0));
    }
    if (!namesLanes(callee) || call->getNumArgs() < 2) return;
    dropLane(body, planter, call->getArg(0));
    if (!callee.starts_with("__shfl") || call->getNumArgs() < 3) return;
    const Expr *lane = call->getArg(2);
    planter.replace(body, "shuffle_lane", lane, "(" + body.text(lane) + ") + 1");
    const char *other = callee == "__shfl_down_sync" ? "__shfl_up_sync" : callee == "__shfl_up_sync" || callee == "__shfl_xor_sync" ? "__shfl_down_sync" : nullptr;
    if (other) planter.plant(body, "shuffle_direction", call->getSourceRange(), {{call->getCallee()->getSourceRange(), other}});
  });
}

} // namespace

extern const Operator warp = {"drop a warp's sync or a lane of its mask, take the wrong lane", find, nullptr};

} // namespace klineage::mutate
