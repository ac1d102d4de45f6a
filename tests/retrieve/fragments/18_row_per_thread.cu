// step: cooperative_row
   int r = threadIdx.x + blockDim.x * blockIdx.x;
   if (!(r < nRows)) return;
   double energy = 0;
   for (int f = 0; f != nFeatures; f += 1) {
      double e = feats[r * nFeatures + f];
      energy += e * e;
   }
   norms[r] = sqrt(energy / nFeatures);
