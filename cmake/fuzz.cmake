# The files of tests/fuzz/targets as one library with a table of names, for test_fuzz, and with the preset `fuzz` one libFuzzer program fuzz_<name> each.

option(KLINEAGE_FUZZ "build the fuzz targets as libFuzzer programs (CONTRIBUTING.md, Fuzzing)" OFF)
set(KLINEAGE_SPLICED_TARGETS kernels) # changed by statements and not by bytes: tests/fuzz/splice.cpp
if(KLINEAGE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

function(klineage_fuzz_targets)
  klineage_rows_of(tests/fuzz/targets "void @(std::string_view);" "\"@\", @")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/fuzz_targets.cpp @ONLY CONTENT
"// Written by CMake from the files of tests/fuzz/targets.
#include \"tests/fuzz/fuzz.h\"
namespace klineage::fuzz {
${decls}namespace {
const NamedTarget table[] = {
${rows}};
} // namespace
std::span<const NamedTarget> targets() { return table; }
} // namespace klineage::fuzz
")
  add_library(kl_fuzz_targets STATIC EXCLUDE_FROM_ALL ${files} ${CMAKE_SOURCE_DIR}/tests/fuzz/splice.cpp ${CMAKE_BINARY_DIR}/generated/fuzz_targets.cpp)
  target_link_libraries(kl_fuzz_targets PUBLIC kl_retrieve kl_device kl_step_table)
  if(NOT KLINEAGE_FUZZ)
    return()
  endif()
  foreach(file ${files})
    get_filename_component(stem ${file} NAME_WE)
    add_executable(fuzz_${stem} EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tests/fuzz/libfuzzer_main.cpp ${KLINEAGE_SANITIZER_OPTIONS})
    target_compile_definitions(fuzz_${stem} PRIVATE KLINEAGE_FUZZ_TARGET=${stem})
    if(stem IN_LIST KLINEAGE_SPLICED_TARGETS)
      target_compile_definitions(fuzz_${stem} PRIVATE KLINEAGE_FUZZ_SPLICES)
    endif()
    target_link_libraries(fuzz_${stem} PRIVATE kl_fuzz_targets)
    target_link_options(fuzz_${stem} PRIVATE -fsanitize=fuzzer)
    list(APPEND programs fuzz_${stem})
  endforeach()
  add_custom_target(fuzzers DEPENDS ${programs})
endfunction()
