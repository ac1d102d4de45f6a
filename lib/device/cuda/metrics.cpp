#include "device/cuda/metrics.h"
#include <algorithm>
#include <iterator>

namespace klineage::cuda {
namespace {

struct Row {
  const char *counter;
  std::vector<const char *> metrics;
};

const std::vector<Row> &table() {
  static const std::vector<Row> rows = {
      {"replayed_nanoseconds", {"gpu__time_duration.sum"}},
      // global memory
      {"global_load_requests", {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"}},
      {"global_load_sectors", {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}},
      {"global_load_l1_hit_sectors", {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"}},
      {"global_store_requests", {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"}},
      {"global_store_sectors", {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"}},
      {"global_atomic_requests", {"l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"}},
      {"global_atomic_sectors", {"l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"}},
      {"async_copy_requests", {"smsp__inst_executed_op_ldgsts.sum"}},
      {"l2_read_sectors", {"lts__t_sectors_op_read.sum"}},
      {"l2_write_sectors", {"lts__t_sectors_op_write.sum"}},
      {"l2_bytes", {"lts__t_bytes.sum"}},
      {"dram_read_bytes", {"dram__bytes_read.sum"}},
      {"dram_write_bytes", {"dram__bytes_write.sum"}},
      // shared memory
      {"shared_load_requests", {"smsp__inst_executed_op_shared_ld.sum"}},
      {"shared_load_wavefronts", {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"}},
      {"shared_load_conflicts", {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"}},
      {"shared_store_requests", {"smsp__inst_executed_op_shared_st.sum"}},
      {"shared_store_wavefronts", {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"}},
      {"shared_store_conflicts", {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"}},
      {"shared_atomic_requests", {"smsp__inst_executed_op_shared_atom.sum"}},
      {"matrix_load_requests", {"smsp__inst_executed_op_ldsm.sum"}},
      {"local_load_requests", {"smsp__inst_executed_op_local_ld.sum"}},
      {"local_store_requests", {"smsp__inst_executed_op_local_st.sum"}},
      // instructions
      {"instructions", {"smsp__inst_executed.sum"}},
      {"thread_instructions", {"smsp__thread_inst_executed.sum"}},
      {"pipe_fma", {"smsp__inst_executed_pipe_fma.sum"}},
      {"pipe_alu", {"smsp__inst_executed_pipe_alu.sum"}},
      {"pipe_fp64", {"smsp__inst_executed_pipe_fp64.sum"}},
      {"pipe_fp16", {"smsp__inst_executed_pipe_fma_type_fp16.sum"}},
      {"pipe_special", {"smsp__inst_executed_pipe_xu.sum"}},
      {"pipe_load_store", {"smsp__inst_executed_pipe_lsu.sum"}},
      {"pipe_branch", {"smsp__inst_executed_pipe_cbu.sum"}},
      {"pipe_uniform", {"smsp__inst_executed_pipe_uniform.sum"}},
      {"pipe_tensor", {"smsp__inst_executed_pipe_tensor.sum"}},
      {"branches", {"smsp__sass_branch_targets.sum"}},
      {"divergent_branches", {"smsp__sass_branch_targets_threads_divergent.sum"}},
      {"blocks", {"sm__ctas_launched.sum"}},
      {"warps", {"smsp__warps_launched.sum"}},
      // shares of peak, in percent
      {"percent_issue", {"smsp__issue_active.avg.pct_of_peak_sustained_active"}},
      {"percent_occupancy", {"sm__warps_active.avg.pct_of_peak_sustained_active"}},
      {"percent_tensor", {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"}},
      {"percent_fma", {"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"}},
      {"percent_sm", {"sm__throughput.avg.pct_of_peak_sustained_elapsed"}},
      {"percent_l1", {"l1tex__throughput.avg.pct_of_peak_sustained_elapsed"}},
      {"percent_l2", {"lts__throughput.avg.pct_of_peak_sustained_elapsed"}},
      {"percent_dram", {"dram__throughput.avg.pct_of_peak_sustained_elapsed"}},
      // warps that wait, for each issued instruction
      {"stall_long_scoreboard", {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"}},
      {"stall_short_scoreboard", {"smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio"}},
      {"stall_barrier", {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio"}},
      {"stall_math_pipe", {"smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio"}},
      {"stall_global_queue", {"smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio"}},
      {"stall_shared_queue", {"smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio"}},
      {"stall_fixed_latency", {"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"}},
      {"stall_not_selected", {"smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio"}},
      {"stall_memory_barrier", {"smsp__average_warps_issue_stalled_membar_per_issue_active.ratio"}},
      {"stall_no_instruction", {"smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio"}},
      {"stall_branch", {"smsp__average_warps_issue_stalled_branch_resolving_per_issue_active.ratio"}},
      {"stall_drain", {"smsp__average_warps_issue_stalled_drain_per_issue_active.ratio"}},
      {"stall_matrix", {"smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio"}},
  };
  return rows;
}

} // namespace

std::vector<std::string> wantedMetrics() {
  std::vector<std::string> wanted;
  for (const Row &row : table())
    for (const char *metric : row.metrics) wanted.push_back(metric);
  return wanted;
}

Counters countersFrom(const std::map<std::string, double> &metrics) {
  Counters counters;
  for (const Row &row : table()) {
    double sum = 0;
    bool whole = true;
    for (const char *metric : row.metrics) {
      auto found = metrics.find(metric);
      whole &= found != metrics.end();
      if (found != metrics.end()) sum += found->second;
    }
    if (whole) counters[row.counter] = sum;
  }
  return counters;
}

} // namespace klineage::cuda
