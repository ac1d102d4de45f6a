// step: vector_store
  dst[slot * 4 + 0] = h0 * inv;
  dst[slot * 4 + 1] = h1 * inv;
  dst[slot * 4 + 2] = h2 * inv;
  dst[slot * 4 + 3] = h3 * inv;
  ++slot; // next
} else {
