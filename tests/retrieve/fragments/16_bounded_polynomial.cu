// step: unroll
  T horner = T(0);
  for (int deg = 5; deg < 17; ++deg)
      horner = horner * xval + T(1.5);
  return_slot = horner;
