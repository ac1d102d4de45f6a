# The portable bundle: `cmake --build build --target bundle` makes build/bundle/klineage/ and one compressed file of it. All tools are one program that
# looks at the name it was called by; LLVM, Clang, SQLite and the C++ library are linked into it, so that a GPU node needs nvcc and a host
# compiler and nothing else. Debian's CMake targets lead to LLVM's shared library, so the static archives are named one by one.

function(klineage_bundle)
  file(GLOB mains CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/*.cpp)
  list(SORT mains)
  set(decls "")
  set(rows "")
  set(objects "")
  foreach(main ${mains})
    get_filename_component(stem ${main} NAME_WE)
    add_library(bundle_${stem} OBJECT EXCLUDE_FROM_ALL ${main})
    target_compile_definitions(bundle_${stem} PRIVATE main=klineage_main_${stem})
    target_include_directories(bundle_${stem} PRIVATE ${CMAKE_SOURCE_DIR}/lib ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
    target_include_directories(bundle_${stem} SYSTEM PRIVATE ${LLVM_INCLUDE_DIR})
    list(APPEND objects $<TARGET_OBJECTS:bundle_${stem}>)
    string(APPEND decls "int klineage_main_${stem}(int, char **);\n")
    if(stem STREQUAL klineage)
      string(APPEND rows "    {\"klineage\", klineage_main_klineage},\n")
    else()
      string(APPEND rows "    {\"klineage-${stem}\", klineage_main_${stem}},\n")
      list(APPEND links klineage-${stem})
    endif()
  endforeach()
  # The tests that need a GPU travel too, because the node has no build folder.
  file(GLOB gpu_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/gpu/*.cpp)
  add_library(bundle_gpu_tests OBJECT EXCLUDE_FROM_ALL ${gpu_tests})
  target_compile_definitions(bundle_gpu_tests PRIVATE main=klineage_main_gpu_tests)
  target_include_directories(bundle_gpu_tests PRIVATE ${CMAKE_SOURCE_DIR}/lib ${CMAKE_SOURCE_DIR})
  list(APPEND objects $<TARGET_OBJECTS:bundle_gpu_tests>)
  list(APPEND links klineage-gpu-tests)
  string(APPEND decls "int klineage_main_gpu_tests(int, char **);\n")
  string(APPEND rows "    {\"klineage-gpu-tests\", klineage_main_gpu_tests},\n")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/bundle_main.cpp @ONLY CONTENT
"// Written by CMake from the files of tools/: one program, many names.
#include <cstring>
${decls}
int main(int argc, char **argv) {
  struct { const char *name; int (*run)(int, char **); } table[] = {
${rows}  };
  const char *slash = argc ? std::strrchr(argv[0], '/') : nullptr;
  const char *name = slash ? slash + 1 : argc ? argv[0] : \"klineage\";
  for (const auto &row : table)
    if (std::strcmp(row.name, name) == 0) return row.run(argc, argv);
  return klineage_main_klineage(argc, argv);
}
")
  set(rooms walk materialize retrieve report init record step_table steps step planted mutate gate device facts model workload source lineage_db support)
  set(archives "")
  foreach(room ${rooms})
    get_target_property(type kl_${room} TYPE)
    if(NOT type STREQUAL INTERFACE_LIBRARY)
      list(APPEND archives $<TARGET_FILE:kl_${room}>)
      list(APPEND needed kl_${room})
    endif()
  endforeach()
  file(GLOB llvm ${LLVM_LIB_DIR}/libLLVM*.a ${LLVM_LIB_DIR}/libclang*.a)
  list(FILTER llvm EXCLUDE REGEX "libclang(d|Daemon|Tidy|IncludeFixerPlugin|Doc)")
  set(system "")
  foreach(name gtest isl gmp sqlite3 boost_context zstd z)
    find_library(KLINEAGE_STATIC_${name} lib${name}.a)
    if(NOT KLINEAGE_STATIC_${name})
      set(missing "lib${name}.a")
    endif()
    list(APPEND system ${KLINEAGE_STATIC_${name}})
  endforeach()
  find_program(XZ_PROGRAM xz) # GPU nodes run Ubuntu's server image, which unpacks xz and not zstd
  if(NOT llvm OR missing OR NOT XZ_PROGRAM) # only the bundle needs them, so only the bundle fails
    add_custom_target(bundle COMMAND ${CMAKE_COMMAND} -E echo "the bundle needs LLVM's static archives, ${missing} and xz: apt-get install llvm-22-dev libclang-22-dev zlib1g-dev libzstd-dev libgmp-dev xz-utils"
                                 COMMAND ${CMAKE_COMMAND} -E false)
    return()
  endif()
  add_executable(klineage-bundle EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/generated/bundle_main.cpp ${CMAKE_SOURCE_DIR}/cmake/no_polly.cpp ${objects})
  target_include_directories(klineage-bundle SYSTEM PRIVATE ${LLVM_INCLUDE_DIR})
  add_dependencies(klineage-bundle ${needed})
  target_link_libraries(klineage-bundle PRIVATE -Wl,--start-group ${archives} ${llvm} ${system} -Wl,--end-group dl m pthread rt)
  target_link_options(klineage-bundle PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,-s)

  set(folder ${CMAKE_BINARY_DIR}/bundle/klineage)
  set(file ${CMAKE_BINARY_DIR}/bundle/klineage-linux-x86_64.tar) # xz adds its own ending
  set(link_commands "")
  foreach(link ${links})
    list(APPEND link_commands COMMAND ${CMAKE_COMMAND} -E create_symlink klineage ${folder}/bin/${link})
  endforeach()
  add_custom_target(bundle
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder} ${file}.xz
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}/bin ${folder}/lib/clang/${KLINEAGE_LLVM_MAJOR}
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:klineage-bundle> ${folder}/bin/klineage
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:klineage-cuda-worker> ${folder}/bin/klineage-cuda-worker
    COMMAND ${LLVM_BIN_DIR}/llvm-strip ${folder}/bin/klineage-cuda-worker
    ${link_commands}
    COMMAND ${CMAKE_COMMAND} -DFROM=${KLINEAGE_RESOURCE_DIR}/include -DTO=${folder}/lib/clang/${KLINEAGE_LLVM_MAJOR}/include -P ${CMAKE_SOURCE_DIR}/cmake/bundle_headers.cmake
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_SOURCE_DIR}/expert_kernels ${folder}/expert_kernels
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_SOURCE_DIR}/bench ${folder}/bench
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_SOURCE_DIR}/tests/walk/lineages ${folder}/plain
    COMMAND tar -C ${CMAKE_BINARY_DIR}/bundle --owner=0 --group=0 --sort=name -cf ${file} klineage
    COMMAND ${XZ_PROGRAM} -f -T2 ${file}
    DEPENDS klineage-bundle klineage-cuda-worker
    VERBATIM)
endfunction()
