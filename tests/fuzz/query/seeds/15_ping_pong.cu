
     int cur = 0;
     loadTile(0);
     __syncthreads();
     for (int it = 0; it < iters; it++) {
        if (it + 1 < iters)
           panel[cur ^ 1][row_][col_] = gmem[(it + 1) * BK + row_ * ldg_ + col_];
        for (int kk = 0; kk < BK; kk++)
           z += panel[cur][ty_][kk] * other_[kk];
        __syncthreads();
        cur ^= 1;
     }
