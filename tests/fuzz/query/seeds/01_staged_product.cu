
        for (int blk = 0; blk < (Kd + TS - 1) / TS; ++blk) {
            lhsTile[ly][lx] = (gy < Md && blk * TS + lx < Kd) ? Lhs[gy * Kd + blk * TS + lx] : ElemT(0);
            rhsTile[ly][lx] = (gx < Nd && blk * TS + ly < Kd) ? Rhs[(blk * TS + ly) * Nd + gx] : ElemT(0);
            __syncthreads();
            for (int q = 0; q < TS; q++)
                running += lhsTile[ly][q] * rhsTile[q][lx];
            __syncthreads();
        }
        if (gy < Md
