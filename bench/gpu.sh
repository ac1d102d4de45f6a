#!/usr/bin/env bash
# Everything that a GPU is needed for, in one go, from an unpacked bundle: bench/gpu.sh [OUT]. Writes to OUT (default .): the tests' result, counts of both
# devices, equal builds against each other, the experts mined on the card. About eight minutes on an H200. STAGES picks some: tests counts equal mine.
set -uo pipefail
cd "$(dirname "$0")/.."
out=${1:-.}
stages=${STAGES:-tests counts equal mine}
bin=$PWD/bin
export KLINEAGE_CACHE=${KLINEAGE_CACHE:-/tmp/klineage-cache} CUDA_PATH=${CUDA_PATH:-/usr/local/cuda}
mkdir -p "$out" "$KLINEAGE_CACHE"
exec > >(tee -a "$out/log.txt") 2>&1
want() { [[ " $stages " == *" $1 "* ]]; }
stamp() { echo "== $(date -u +%FT%TZ) $* ($(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null))"; }

if want tests; then
  stamp tests that need a GPU
  "$bin/klineage" doctor
  "$bin/klineage-gpu-tests" 2>&1 | tee "$out/gpu-tests.txt" | grep -E 'FAILED|SKIPPED|PASSED|Failure|error|Which|Value of|Expected|actual' | cut -c1-300
fi
if want counts; then
  stamp counts of the emulator and of CUPTI
  python3 bench/counts.py --out "$out" --klineage "$bin/klineage" >"$out/counts.md" 2>"$out/counts.err"
  wc -l "$out/counts.md"; head -c 2000 "$out/counts.err"
fi
if want equal; then
  stamp equal builds against each other
  # At once: they make their inputs side by side and take turns at the GPU.
  for kernel in ${KERNELS:-row_softmax layer_norm transpose reduce_sum sgemm}; do
    "$bin/klineage" gate "expert_kernels/$kernel" --device cuda --against-itself "${EQUAL:-62}" --json >"$out/equal_$kernel.json" 2>"$out/equal_$kernel.err" &
  done
  wait $(jobs -p)
  for kernel in ${KERNELS:-row_softmax layer_norm transpose reduce_sum sgemm}; do
    python3 - "$out/equal_$kernel.json" "$kernel" <<'P' || head -c 600 "$out/equal_$kernel.err"
import json, sys
t = json.load(open(sys.argv[1]))
print(sys.argv[2], t["instance"], f"{t['median_seconds'] * 1e6:.2f} us", f"{t['wrong']} of {t['verdicts']} called different, at most {100 * t['upper_bound']:.2f} %;",
      f"resampled {t['resampled_wrong']} of {t['resampled']}, at most {100 * t['resampled_upper_bound']:.3f} %;", f"smallest difference {100 * t['median_smallest_difference']:.2f} %,",
      f"{t['blocks_a_verdict']} blocks, SM {t['clocks'].get('clock_sm_mhz_low')} to {t['clocks'].get('clock_sm_mhz_high')} MHz")
P
  done
fi
if want mine; then
  stamp mining on the card
  # One process a kernel; they take turns at the GPU. Each has a corpus of its own.
  for kernel in ${KERNELS:-row_softmax layer_norm transpose reduce_sum sgemm}; do
    KLINEAGE_PROGRESS=1 timeout "${MINE_SECONDS:-480}" "$bin/klineage" mine "expert_kernels/$kernel" --device cuda --corpus "$out/$kernel.db" ${MINE_OPTIONS:-} >"$out/mine_$kernel.txt" 2>&1 &
  done
  wait $(jobs -p)
  tail -n 3 "$out"/mine_*.txt
fi
stamp done
