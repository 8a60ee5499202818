# Unit tests: one program per layer, tests/unit/LAYER/*_test.cpp. Files named *_threads_test.cpp go to a program of
# their own, unit_threads, whose tests carry the label "threads" and also run under ThreadSanitizer.
find_package(GTest REQUIRED)
include(GoogleTest)

set(ACCEL_UNIT_LAYERS base format trace ingest analysis fusion compare history diagnosis report capi cli runtime)

function(accel_unit_program name label)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE accel_cli accel_runtime accel_compression simdjson::simdjson GTest::gtest_main)
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/tests")
  target_compile_definitions(${name} PRIVATE ACCEL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
                       PROPERTIES LABELS ${label} TIMEOUT 120)
endfunction()

set(accel_thread_tests)
foreach(layer IN LISTS ACCEL_UNIT_LAYERS)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/unit/${layer}/*_test.cpp")
  set(plain ${tests})
  list(FILTER plain EXCLUDE REGEX "_threads_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_threads_test\\.cpp$")
  list(APPEND accel_thread_tests ${tests})
  if(plain)
    accel_unit_program(unit_${layer} unit ${plain})
  endif()
endforeach()
if(accel_thread_tests)
  accel_unit_program(unit_threads threads ${accel_thread_tests})
endif()

# A libnvidia-ml for machines without a device: tests of the sampler open it under its usual name.
add_library(fake_nvml SHARED "${CMAKE_SOURCE_DIR}/tests/support/fake_nvml.c")
set_target_properties(fake_nvml PROPERTIES NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests" C_VISIBILITY_PRESET default)
target_link_options(fake_nvml PRIVATE -Wl,-soname,libnvidia-ml.so.1)
if(TARGET unit_runtime)
  add_dependencies(unit_runtime fake_nvml)
endif()

# Tests of the runtime start the example program.
if(TARGET unit_runtime AND TARGET example_cpp_slow_loader)
  add_dependencies(unit_runtime example_cpp_slow_loader)
endif()

# A library with CUPTI's names whose records the test makes.
add_library(fake_cupti SHARED tests/support/fake_cupti/fake_cupti.cpp)
target_link_libraries(fake_cupti PRIVATE accel_flags)
target_include_directories(fake_cupti PRIVATE "${CMAKE_SOURCE_DIR}/src")
set_target_properties(fake_cupti PROPERTIES OUTPUT_NAME cupti SUFFIX ".so.fake" CXX_VISIBILITY_PRESET default
                      LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
if(TARGET unit_threads)
  add_dependencies(unit_threads fake_cupti)
endif()
