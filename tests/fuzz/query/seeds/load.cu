float4 wide load
for (int k = 0; k < 4; ++k) v[k] = row[4 * i + k];
