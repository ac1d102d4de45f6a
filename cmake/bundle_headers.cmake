# Clang's own headers, without the intrinsics of processors that host no GPU.
file(GLOB_RECURSE headers RELATIVE ${FROM} ${FROM}/*)
list(FILTER headers EXCLUDE REGEX "^(arm_|arm64|riscv|sifive|andes|altivec|ppc_|htm|s390|vecintrin|hexagon|hvx|wasm|msa|larchintrin|lasxintrin|lsxintrin|velintrin|hlsl|opencl|amd|hip|spirv|openmp_wrappers/.*hip|fuzzer/|sanitizer/|profile/|xray/|orc/)")
foreach(header ${headers})
  get_filename_component(folder ${TO}/${header} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  configure_file(${FROM}/${header} ${TO}/${header} COPYONLY)
endforeach()
