// double_buffer: fetch the next tile while the block works on this one, in two buffers that take turns.
//
//   expert   fill(s[0], 0); sync; for (t) { next = load(t + 1); work(s[t % 2]); store(s[1 - t % 2], next); sync; }
//   plain    for (t) { store(s, load(t)); sync; work(s); sync; }
//
// Limits: two stages; tiles declared in the kernel with the stage as their outermost dimension; all tiles of a loop together.
#include "step/pipelining.h"

namespace klineage {

extern const Step double_buffer = {
    .summary = "fetch the next tile while the block works on this one, in two buffers that take turns",
    .stage = Stage::Memory,
    .revision = 1,
    .params = {{"stages", oneOf({2}), "buffers that take turns"}},
    .conditions =
        {
            {"source_unwritten", "unwritten(source)", Soundness},
            {"fits_shared", "shared_bytes + bytes_a_stage <= shared_limit", Soundness},
        },
    .codegen = {.added = {}, .removed = {}},
    .intent = "Load the next tile into registers before the work on this one, and store it into a second buffer after it. It pays because the loads "
              "of the next tile are under way while the block computes, and because one barrier a turn is enough where two were needed.",
    .simplify = {.detect = pipelinedLoops, .edit = makeSerial},
    .materialize = {.detect = serialLoops, .edit = makePipelined},
};

} // namespace klineage
