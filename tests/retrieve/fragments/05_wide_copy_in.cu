// step: vector_load
    const int4* src4 = reinterpret_cast<const int4*>(packed + tokenBase);
    for (int v = lane; v < hiddenVecs; v += stride) {
        int4 chunk = src4[v];
        hist += popcount(chunk.x) + popcount(chunk.y) + popcount(chunk.z) + popcount(chunk.w);
    }
