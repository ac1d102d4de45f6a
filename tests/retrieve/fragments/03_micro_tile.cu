// step: register_block
#pragma unroll
    for (int r = 0; r < THREAD_M; ++r) fragA[r] = sA[dot][threadRow * THREAD_M + r];
#pragma unroll
    for (int s = 0; s < THREAD_N; ++s) fragB[s] = sB[dot][threadCol * THREAD_N + s];
    for (int r = 0; r < THREAD_M; ++r)
      for (int s = 0; s < THREAD_N; ++s)
        results[r][s] += fragA[r] * fragB[s];
