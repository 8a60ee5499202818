# One libFuzzer program per tests/fuzz/*.cpp, over the libraries that read foreign bytes, built with the same
# instrumentation. Target fuzz_all builds them and nothing else.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "the fuzz targets need clang: configure with -DCMAKE_CXX_COMPILER=clang++-19")
endif()
target_compile_options(accel_flags INTERFACE -fsanitize=fuzzer-no-link)

add_custom_target(fuzz_all)
file(GLOB accel_fuzz_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/fuzz/*.cpp")
foreach(source IN LISTS accel_fuzz_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(fuzz_${name} "${source}")
  target_link_libraries(fuzz_${name} PRIVATE accel_fusion accel_ingest accel_runtime accel_compression simdjson::simdjson)
  add_dependencies(fuzz_all fuzz_${name})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
endforeach()
