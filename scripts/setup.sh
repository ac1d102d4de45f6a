# Shared by ./check and ./quickstart: what to install, where CUDA is, how to build. Sourced, not run.

packages=(clang-22 lld-22 libclang-22-dev libclang-common-22-dev libclang-rt-22-dev llvm-22-dev libsqlite3-dev nlohmann-json3-dev libgtest-dev
          libboost-context-dev libisl-dev libcli11-dev libzstd-dev bubblewrap ninja-build cmake ccache g++ python3 python3-venv)

say() { printf '\n== %s\n' "$*" >&2; }
stop() { printf 'klineage: %s\n' "$*" >&2; exit 1; }

install_packages() {
  local missing=() name
  for name in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return
  command -v apt-get >/dev/null || stop "this is no Debian machine; install by hand: ${missing[*]}"
  local root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || stop "packages are missing and this is not root; run as root, or: apt-get install ${missing[*]}"
    root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${root[@]}" apt-get update -qq || stop "apt-get update failed; is the network up?"
  DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" ||
    stop "apt-get could not install ${missing[*]}; Debian 12 with its updates has them all"
}

# The toolkit of the machine, else NVIDIA's own wheels, pinned, into build/cuda.
find_cuda() {
  local place
  for place in "${CUDA_PATH:-}" /usr/local/cuda "$PWD/build/cuda"; do
    [ -n "$place" ] || continue
    if grep -q '#define CUDA_VERSION 13' "$place/include/cuda.h" 2>/dev/null && [ -x "$place/bin/nvcc" ] &&
       { [ -e "$place/include/cupti_range_profiler.h" ] || [ -e "$place/extras/CUPTI/include/cupti_range_profiler.h" ]; }; then
      export CUDA_PATH=$place
      return
    fi
  done
  say "no CUDA Toolkit 13 here: fetching NVIDIA's wheels into build/cuda (about 300 MB)"
  mkdir -p build
  python3 -m venv build/cuda-venv || stop "python3 -m venv failed; install python3-venv"
  build/cuda-venv/bin/pip install -q --disable-pip-version-check -r scripts/cuda-wheels.txt ||
    stop "pip could not fetch the CUDA wheels; set CUDA_PATH to a CUDA Toolkit 13.0"
  local site
  site=$(build/cuda-venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/nvidia
  rm -rf build/cuda && mkdir -p build/cuda
  cp -r "$site"/cu13/. build/cuda/ 2>/dev/null || stop "the CUDA wheels did not hold what was expected under $site/cu13"
  grep -q '#define CUDA_VERSION 13' build/cuda/include/cuda.h || stop "the CUDA wheels hold no cuda.h of CUDA 13"
  export CUDA_PATH=$PWD/build/cuda
}

build_all() {
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
  say "configuring"
  cmake --preset dev -DKLINEAGE_CUDA_PATH="$CUDA_PATH" >build-configure.log 2>&1 || { tail -n 20 build-configure.log >&2; stop "cmake failed"; }
  mv build-configure.log build/configure.log
  say "building (the first time takes some minutes)"
  ninja -C build "$@" || stop "the build failed; the first error above says where"
}
