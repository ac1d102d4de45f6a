// Whether the iterations of a loop may be taken in another order, or by other threads.
#pragma once
#include "model/kernel_model.h"

namespace klineage {

struct IterationOrder {
  bool free = false;  ///< Every value that one iteration hands to the next is a reduction, and every store goes to its own element.
  std::string why;    ///< Why the loop cannot even be looked at (barriers, jumps, calls with effects); empty otherwise.
  std::string carried; ///< The variable whose update depends on the order, when not free.
};
/// Reductions are `acc op= e` and `acc = op(acc, e)` for +, *, min, max, &, |, ^ with `e` free of carried values, and a sum that is rescaled
/// by a factor of a carried maximum (the online softmax). A serial loop (start 0, step 1) that keeps its order asks for nothing.
IterationOrder iterationOrder(const KernelModel &kernel, const Loop &loop);

/// True when the threads that run the loop together cover every iteration once: start 0 and step 1; threadIdx.x and blockDim.x;
/// or the global thread index and the number of threads of the grid. Then any regrouping of iterations covers them too.
bool threadsCover(const KernelModel &kernel, const Loop &loop);

} // namespace klineage
