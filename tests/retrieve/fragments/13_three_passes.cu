// step: online_softmax
  acc_t top = -std::numeric_limits<acc_t>::infinity();
  for (int64_t d = 0; d < dim; d++) top = std::max(top, logits[outer * dim + d]);
  acc_t denom = 0;
  for (int64_t d = 0; d < dim; d++) denom += std::exp(logits[outer * dim + d] - top);
  for (int64_t d = 0; d < dim; d++)
    probs[outer * dim + d] = std::exp(logits[outer * dim + d] - top) / denom;
