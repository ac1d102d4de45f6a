#!/usr/bin/env bash
# Runs the bundle as a GPU node would: unpacked into another folder, an empty environment, no LLVM, SQLite or CUDA library of this machine in sight
# (CUDA's headers and nvcc stay). Usage: scripts/test-bundle.sh [build/bundle/klineage-linux-x86_64.tar.xz]
set -euo pipefail
cd "$(dirname "$0")/.."
file=${1:-build/bundle/klineage-linux-x86_64.tar.xz}
[ -f "$file" ] || { echo "no bundle at $file: cmake --build build --target bundle" >&2; exit 1; }

size=$(stat -c %s "$file")
echo "size: $((size / 1048576)) MiB"
[ "$size" -lt $((40 * 1048576)) ] || { echo "the bundle is larger than 40 MiB" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
tar -C "$work" -xJf "$file"
bundle=$work/klineage

needs=$(ldd "$bundle/bin/klineage" "$bundle/bin/klineage-cuda-worker" | awk '/=>/ {print $1}' | sort -u | tr '\n' ' ')
echo "needs: $needs"
if grep -qE 'LLVM|clang|sqlite|stdc\+\+|isl|boost|cuda|cupti' <<<"$needs"; then
  echo "a library that a GPU node may lack is linked" >&2; exit 1
fi
newest=$(objdump -T "$bundle/bin/klineage" "$bundle/bin/klineage-cuda-worker" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
echo "newest symbol version: $newest (Ubuntu 24.04 has GLIBC_2.39)"

# LLVM's folder and libraries are hidden behind empty ones.
hide=(--tmpfs /usr/lib/llvm-22)
for library in /usr/lib/x86_64-linux-gnu/libLLVM* /usr/lib/x86_64-linux-gnu/libclang* /usr/lib/x86_64-linux-gnu/libsqlite3.so.0; do
  [ -e "$library" ] && hide+=(--ro-bind /dev/null "$(readlink -f "$library")")
done
inside() {
  bwrap --bind / / --dev-bind /dev /dev --proc /proc "${hide[@]}" --bind "$work" "$work" --clearenv \
    --setenv PATH /usr/bin:/bin --setenv HOME "$work" --setenv CUDA_PATH "${CUDA_PATH:-/usr/local/cuda}" --chdir "$work" -- "$@"
}
inside test ! -e /usr/lib/llvm-22/bin/clang || { echo "LLVM is still in sight" >&2; exit 1; }
inside "$bundle/bin/klineage" doctor
inside "$bundle/bin/klineage" gate "$bundle/expert_kernels/transpose" --no-cache
inside "$bundle/bin/klineage" step list >/dev/null
inside "$bundle/bin/klineage" mine "$bundle/expert_kernels/transpose" --corpus "$work/corpus.db" --step-limit 1 --no-probe --quiet || [ $? -eq 2 ]
inside "$bundle/bin/klineage" corpus --corpus "$work/corpus.db" stats
echo "the bundle works without LLVM, in an empty environment"
