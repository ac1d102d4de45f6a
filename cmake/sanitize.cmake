# The presets address, undefined, thread and fuzz build everything with sanitizers; LLVM's and Clang's own libraries stay as they are (CONTRIBUTING.md).
set(KLINEAGE_SANITIZE "" CACHE STRING "sanitizers as -fsanitize takes them: address,undefined or thread")
set(KLINEAGE_SANITIZER_OPTIONS "")
if(KLINEAGE_SANITIZE)
  add_compile_options(-fsanitize=${KLINEAGE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -gline-tables-only)
  add_link_options(-fsanitize=${KLINEAGE_SANITIZE})
  set(KLINEAGE_SANITIZER_OPTIONS ${CMAKE_SOURCE_DIR}/cmake/sanitizer_options.cpp)
endif()
