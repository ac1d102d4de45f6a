// async_copy: data is used before it has come.
//
//   wait_dropped   __pipeline_wait_prior(1)   ->  nothing
//   wait_weaker    __pipeline_wait_prior(1)   ->  __pipeline_wait_prior((1) + 1): one group more may still be on its way
//   commit_dropped __pipeline_commit()        ->  nothing
#include "mutate/facts.h"

namespace klineage::mutate {
namespace {

using namespace clang;

void find(const Body &body, Planter &planter) {
  const std::vector<std::string> seen = {"race", "uninitialized_read", "wrong_value"};
  body.each<CallExpr>([&](const CallExpr *call) {
    llvm::StringRef callee = calleeName(call);
    if (callee == "__pipeline_commit" && isWholeStatement(body, call)) planter.replace(body, "commit_dropped", call, "(void)0", seen);
    if (callee != "__pipeline_wait_prior" || !isWholeStatement(body, call)) return;
    planter.replace(body, "wait_dropped", call, "(void)0", seen);
    planter.replace(body, "wait_weaker", call->getArg(0), "(" + body.text(call->getArg(0)) + ") + 1", seen);
  });
  body.each<GCCAsmStmt>([&](const GCCAsmStmt *assembly) {
    if (assembly->getAsmString().find("cp.async.wait") != std::string::npos) planter.replace(body, "wait_dropped", assembly, "(void)0", seen);
    if (assembly->getAsmString().find("cp.async.commit") != std::string::npos) planter.replace(body, "commit_dropped", assembly, "(void)0", seen);
  });
}

} // namespace

extern const Operator async_copy = {"drop a wait on an asynchronous copy", find, nullptr};

} // namespace klineage::mutate
