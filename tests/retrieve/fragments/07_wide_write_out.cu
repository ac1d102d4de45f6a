// step: vector_store
      float4 packed;
      packed.x = alpha * acc[m][0]; packed.y = alpha * acc[m][1];
      packed.z = alpha * acc[m][2]; packed.w = alpha * acc[m][3];
      *reinterpret_cast<float4 *>(&Out[(outRow + m) * ldo + outCol]) = packed;
    }
