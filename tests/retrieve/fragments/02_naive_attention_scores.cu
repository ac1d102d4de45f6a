// step: shared_tile
  const auto qi = blockIdx.y * kRows + threadIdx.y;
  const auto ki = blockIdx.x * kCols + threadIdx.x;
  acc_t dotted = 0;
  for (index_t feat = 0; feat < head_size; feat++) {
    dotted = fmaf(queries[qi * head_size + feat], keys[feat * seq_len + ki], dotted);
  }
  scores[qi * seq_len + ki] = dotted * softmax_scale;
}
