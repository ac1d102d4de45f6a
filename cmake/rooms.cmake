# A room is a folder with one static library. Every .cpp in it is found: adding a file edits no list.
# lib/device keeps its two devices in sub-folders, which belong to the same room.

# LLVM's and Clang's headers are parsed once, in the source room; rooms above it reuse that.
set(KLINEAGE_PCH_ROOMS mutate planted init model facts step steps device gate record walk materialize retrieve)

# Tools that need the gate at most, and rooms whose tests link that room and what it uses, and nothing above.
set(KLINEAGE_LOW_TOOLS klineage gate doctor)
set(KLINEAGE_LOW_ROOMS support source mutate model facts workload init device gate planted lineage_db)

function(klineage_room name)
  cmake_parse_arguments(ROOM "" "DIR" "USES;LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${ROOM_DIR}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/lib/device/cuda/worker/") # a program of its own: klineage_cuda_worker
  list(TRANSFORM ROOM_USES PREPEND kl_)
  if(sources)
    add_library(kl_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(kl_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(kl_${name} ${scope} ${CMAKE_SOURCE_DIR}/lib ${CMAKE_SOURCE_DIR})
  target_include_directories(kl_${name} SYSTEM ${scope} ${LLVM_INCLUDE_DIR})
  target_link_libraries(kl_${name} ${scope} ${ROOM_USES} ${ROOM_LIBS})
  if(sources)
    if(name STREQUAL source)
      target_precompile_headers(kl_source PRIVATE ${CMAKE_SOURCE_DIR}/lib/source/clang_headers.h)
      target_compile_definitions(kl_source PRIVATE
        KLINEAGE_RESOURCE_DIR="${KLINEAGE_RESOURCE_DIR}" KLINEAGE_CUDA_PATH="${KLINEAGE_CUDA_PATH}"
        KLINEAGE_LLVM_MAJOR=${KLINEAGE_LLVM_MAJOR} KLINEAGE_CUDA_MAJOR=${KLINEAGE_CUDA_MAJOR})
    elseif(name IN_LIST KLINEAGE_PCH_ROOMS)
      if(name STREQUAL device) # its structures are passed to launchers as CUDA lays them out
        target_include_directories(kl_device SYSTEM PRIVATE ${KLINEAGE_CUDA_PATH}/include)
      endif()
      get_target_property(source_type kl_source TYPE) # a room without sources yet has no precompiled headers to lend
      if(NOT source_type STREQUAL INTERFACE_LIBRARY)
        target_precompile_headers(kl_${name} REUSE_FROM kl_source)
      endif()
    endif()
    # Each access of an emulated kernel passes through the runtime: it is optimized in every build, and needs none of Clang's headers.
    set(runtime ${sources})
    list(FILTER runtime INCLUDE REGEX "/lib/device/emulated/runtime/")
    if(runtime)
      set_source_files_properties(${runtime} PROPERTIES COMPILE_OPTIONS "-O2" SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endif()
endfunction()

# klineage-cuda-worker: what candidates run in on a GPU. It links no LLVM and nothing of CUDA: the driver, CUPTI and NVML are found at run time, so
# that it is built and starts everywhere.
function(klineage_cuda_worker)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/device/cuda/worker/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  add_library(kl_cuda_worker STATIC ${sources} ${CMAKE_SOURCE_DIR}/lib/device/paired.cpp)
  target_include_directories(kl_cuda_worker PUBLIC ${CMAKE_SOURCE_DIR}/lib)
  target_include_directories(kl_cuda_worker SYSTEM PUBLIC ${KLINEAGE_CUDA_PATH}/include ${KLINEAGE_CUPTI_INCLUDE})
  target_link_libraries(kl_cuda_worker PUBLIC dl pthread)
  add_executable(klineage-cuda-worker ${CMAKE_SOURCE_DIR}/lib/device/cuda/worker/main.cpp)
  target_link_libraries(klineage-cuda-worker PRIVATE kl_cuda_worker)
  target_link_options(klineage-cuda-worker PRIVATE -static-libstdc++ -static-libgcc)
endfunction()

# For a table with one symbol a file of a folder: sets files, decls and rows, a line each a file with its name for "@".
function(klineage_rows_of folder decl row)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  list(SORT files)
  set(decls "")
  set(rows "")
  foreach(file ${files})
    get_filename_component(stem ${file} NAME_WE)
    string(REPLACE "@" "${stem}" one "${decl}")
    string(APPEND decls "${one}\n")
    string(REPLACE "@" "${stem}" one "${row}")
    string(APPEND rows "    {${one}},\n")
  endforeach()
  set(files "${files}" PARENT_SCOPE)
  set(decls "${decls}" PARENT_SCOPE)
  set(rows "${rows}" PARENT_SCOPE)
endfunction()

# Writes a table with one symbol a file of lib/steps, so that a file without its declaration is a link error.
function(klineage_step_table)
  klineage_rows_of(lib/steps "extern const Step @;" "\"@\", &@")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/step_table.cpp @ONLY CONTENT
"// Written by CMake from the files of lib/steps.
#include \"step/registry.h\"
namespace klineage {
${decls}namespace {
const RegisteredStep table[] = {
${rows}    {\"\", nullptr},
};
} // namespace
std::span<const RegisteredStep> registeredSteps() { return {table, std::size(table) - 1}; }
} // namespace klineage
")
  add_library(kl_step_table STATIC ${CMAKE_BINARY_DIR}/generated/step_table.cpp)
  target_link_libraries(kl_step_table PUBLIC kl_steps)
endfunction()

# The same for the families of planted faults, lib/mutate/operators/*.cpp.
function(klineage_operator_table)
  klineage_rows_of(lib/mutate/operators "extern const Operator @;" "\"@\", &@")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/operator_table.cpp @ONLY CONTENT
"// Written by CMake from the files of lib/mutate/operators.
#include \"mutate/operator.h\"
namespace klineage::mutate {
${decls}namespace {
const RegisteredOperator table[] = {
${rows}};
} // namespace
std::span<const RegisteredOperator> registeredOperators() { return table; }
} // namespace klineage::mutate
")
  target_sources(kl_mutate PRIVATE ${CMAKE_BINARY_DIR}/generated/operator_table.cpp)
endfunction()

# tools/<name>.cpp becomes build/bin/klineage-<name>; tools/klineage.cpp is the front door.
# A tool's help is its page docs/cli/<name>.md, given to it as <name>_help.h: one source for each word.
function(klineage_tools)
  add_custom_target(klineage-tools) # all of them, without the tests
  file(GLOB mains CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/*.cpp)
  foreach(main ${mains})
    get_filename_component(stem ${main} NAME_WE)
    if(stem STREQUAL klineage)
      set(target klineage)
    else()
      set(target klineage-${stem})
    endif()
    set(page ${CMAKE_SOURCE_DIR}/docs/cli/${stem}.md)
    if(EXISTS ${page})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
      file(READ ${page} text)
      file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${stem}_help.h @ONLY CONTENT
"// Written by CMake from docs/cli/${stem}.md.
#pragma once
inline constexpr const char *helpText = R\"klineage_help(@text@)klineage_help\";
")
    endif()
    add_executable(${target} ${main} ${KLINEAGE_SANITIZER_OPTIONS})
    add_dependencies(klineage-tools ${target})
    target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/generated)
    if(stem STREQUAL worker) # started for every run, so it carries no more than it needs
      target_link_libraries(${target} PRIVATE kl_device)
    elseif(stem STREQUAL gate) # tests itself with planted faults
      target_link_libraries(${target} PRIVATE kl_planted)
    elseif(stem IN_LIST KLINEAGE_LOW_TOOLS) # needs no step: neither built nor linked for it
      target_link_libraries(${target} PRIVATE kl_gate)
    else()
      target_link_libraries(${target} PRIVATE kl_walk kl_materialize kl_retrieve kl_report kl_init kl_step_table)
    endif()
    set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
  endforeach()
  add_dependencies(klineage-tools klineage-cuda-worker)
endfunction()

# tests/<room>/*_test.cpp make one program a room, test_<room>. Labels are the rooms' names.
function(klineage_tests)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  file(GLOB folders LIST_DIRECTORIES true CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*)
  foreach(folder ${folders})
    get_filename_component(name ${folder} NAME)
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*_test.cpp)
    if(NOT sources)
      continue()
    endif()
    add_executable(test_${name} ${sources} ${KLINEAGE_SANITIZER_OPTIONS})
    if(name STREQUAL cli) # looks at the tools from outside, and into their corpora
      target_link_libraries(test_${name} PRIVATE kl_lineage_db GTest::gtest_main)
    elseif(name IN_LIST KLINEAGE_LOW_ROOMS) # needs no step: neither built nor linked for it
      target_link_libraries(test_${name} PRIVATE kl_${name} GTest::gtest_main)
    elseif(name STREQUAL fuzz) # replays what the fuzz targets were given
      target_link_libraries(test_fuzz PRIVATE kl_fuzz_targets GTest::gtest_main)
    elseif(name STREQUAL gpu) # skipped by name where there is no GPU
      target_link_libraries(test_${name} PRIVATE kl_gate GTest::gtest_main)
    else()
      target_link_libraries(test_${name} PRIVATE kl_walk kl_materialize kl_retrieve kl_report kl_step_table GTest::gtest_main)
    endif()
    if(name STREQUAL cli) # runs the programs themselves
      add_dependencies(test_${name} klineage-tools)
    endif()
    if(TARGET klineage-worker AND NOT name MATCHES "^(support|workload|lineage_db)$") # what the emulated device runs in, found beside the program
      add_dependencies(test_${name} klineage-worker klineage-cuda-worker)
    endif()
    if(name STREQUAL device) # parts of that program are tested by themselves
      target_link_libraries(test_device PRIVATE kl_cuda_worker)
    endif()
    target_compile_definitions(test_${name} PRIVATE KLINEAGE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" KLINEAGE_BINARY_DIR="${CMAKE_BINARY_DIR}")
    set_target_properties(test_${name} PROPERTIES ENABLE_EXPORTS ON)
    gtest_discover_tests(test_${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX ${name}. PROPERTIES LABELS ${name} TIMEOUT 900)
  endforeach()
endfunction()

# The files lineage_db/migrations/NNN_name.sql as one table in the library; the number is the file's own.
function(klineage_migrations)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lineage_db/migrations/*.sql)
  list(SORT files)
  set(rows "")
  foreach(file ${files})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(stem ${file} NAME_WE)
    string(REGEX MATCH "^0*([0-9]+)_" _ ${stem})
    set(number ${CMAKE_MATCH_1})
    file(READ ${file} text)
    string(APPEND rows "    {${number}, \"${stem}\", R\"__sql__(${text})__sql__\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/migrations.cpp @ONLY CONTENT
"// Written by CMake from the files of lineage_db/migrations.
#include \"lineage_db/schema.h\"
namespace klineage::sql {
namespace {
const Migration table[] = {
${rows}};
} // namespace
std::span<const Migration> migrations() { return table; }
} // namespace klineage::sql
")
  target_sources(kl_lineage_db PRIVATE ${CMAKE_BINARY_DIR}/generated/migrations.cpp)
endfunction()

# The example pairs of tests/steps/<id> as one table, for queries: plain.cu with expert.cu, transfer_*.cu with transfer_*.expect.cu.
function(klineage_step_examples)
  file(GLOB plains CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/steps/*/plain.cu ${CMAKE_SOURCE_DIR}/tests/steps/*/transfer_*.cu)
  list(FILTER plains EXCLUDE REGEX "\\.expect\\.cu$")
  list(SORT plains)
  set(rows "")
  foreach(plain ${plains})
    get_filename_component(folder ${plain} DIRECTORY)
    get_filename_component(step ${folder} NAME)
    get_filename_component(stem ${plain} NAME_WE)
    if("${stem}" STREQUAL "plain")
      set(expert ${folder}/expert.cu)
      set(label pair)
    else()
      set(expert ${folder}/${stem}.expect.cu)
      set(label ${stem})
    endif()
    set(after "")
    file(READ ${plain} before)
    if(EXISTS ${expert})
      file(READ ${expert} after)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${expert})
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${plain})
    if(before MATCHES "^[^\n]*direction: simplify") # this one goes back: it begins with the expert form
      set(swapped "${before}")
      set(before "${after}")
      set(after "${swapped}")
    endif()
    string(APPEND rows "    {\"${step}\", \"${label}\", R\"__cu__(${before})__cu__\", R\"__cu__(${after})__cu__\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/step_examples.cpp @ONLY CONTENT
"// Written by CMake from the example pairs of tests/steps.
#include \"retrieve/examples.h\"
namespace klineage {
namespace {
const StepExample table[] = {
${rows}    {\"\", \"\", \"\", \"\"},
};
} // namespace
std::span<const StepExample> stepExamples() { return {table, sizeof(table) / sizeof(table[0]) - 1}; }
} // namespace klineage
")
  target_sources(kl_retrieve PRIVATE ${CMAKE_BINARY_DIR}/generated/step_examples.cpp)
endfunction()

# The kernels tests/steps/<id>/fail_<condition>.cu with their workloads and references as one table: what each soundness condition is for.
function(klineage_counterexamples)
  file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/steps/*/fail_*.cu)
  list(SORT kernels)
  set(rows "")
  foreach(kernel ${kernels})
    get_filename_component(folder ${kernel} DIRECTORY)
    get_filename_component(step ${folder} NAME)
    get_filename_component(stem ${kernel} NAME_WE)
    string(REGEX REPLACE "^fail_" "" condition ${stem})
    set(workload ${folder}/${stem}.workload.json)
    if(NOT EXISTS ${workload})
      set(workload ${folder}/workload.json)
    endif()
    file(READ ${kernel} code)
    file(READ ${workload} description)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kernel} ${workload})
    set(reference "")
    set(expected "")
    if(description MATCHES "\"reference\": *\"([^\"]+)\"" AND NOT CMAKE_MATCH_1 STREQUAL "self")
      set(reference ${CMAKE_MATCH_1})
      file(READ ${folder}/${reference} expected)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${reference})
    endif()
    string(REGEX REPLACE "\"sources\": *\\[[^]]*\\]" "\"sources\": [\"kernel.cu\"]" description "${description}") # the file's name where it is laid out
    string(APPEND rows "    {\"${step}\", \"${condition}\", R\"__cu__(${code})__cu__\", R\"__json__(${description})__json__\", \"${reference}\", R\"__cu__(${expected})__cu__\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/counterexamples.cpp @ONLY CONTENT
"// Written by CMake from the fail_ kernels of tests/steps.
#include \"walk/counterexample.h\"
namespace klineage {
namespace {
const Counterexample table[] = {
${rows}    {\"\", \"\", \"\", \"\", \"\", \"\"},
};
} // namespace
std::span<const Counterexample> counterexamples() { return {table, sizeof(table) / sizeof(table[0]) - 1}; }
} // namespace klineage
")
  target_sources(kl_walk PRIVATE ${CMAKE_BINARY_DIR}/generated/counterexamples.cpp)
endfunction()
