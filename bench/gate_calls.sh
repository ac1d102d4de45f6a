#!/usr/bin/env bash
# How long a gate call takes on a small kernel whose source changes: copies a kernel folder, changes a constant in it N times, and prints the median and the
# 90th percentile of the wall clock, in seconds, of `klineage gate`, each call with the verdict cache cold for that source.
#   bench/gate_calls.sh [FOLDER] [N]
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-examples/row_lengths}
calls=${2:-21}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$folder" "$work/kernel"
export KLINEAGE_CACHE=$work/cache
build/bin/klineage gate "$work/kernel" >/dev/null || true   # headers are compiled once
for i in $(seq "$calls"); do
  cp "$folder/kernel.cu" "$work/kernel/kernel.cu"
  printf '\nstatic __device__ int unused_%s() { return %s; }\n' "$i" "$i" >> "$work/kernel/kernel.cu"
  begin=$(date +%s.%N)
  build/bin/klineage gate "$work/kernel" >/dev/null
  echo "$begin $(date +%s.%N)"
done | awk '{ print $2 - $1 }' | sort -n | awk '{ t[NR] = $1 } END { printf "%d calls, median %.2f s, 90th percentile %.2f s\n", NR, t[int((NR + 1) / 2)], t[int(NR * 0.9 + 0.5)] }'
