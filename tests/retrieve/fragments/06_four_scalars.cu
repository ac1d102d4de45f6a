// step: vector_load
   const float r = img[3 + 4 * pix - 3];
   const float g = img[4 * pix + 1], b = img[4 * pix + 2];
   const float alpha = img[pix * 4 + 3];
   luma = (0.299f * r + 0.587f * g + 0.114f * b) * alpha;
   if (luma > thr) cnt
