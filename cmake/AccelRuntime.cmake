# The runtime SDK: src/runtime and the writing half of src/format as one layer library for the tests, and from the same
# objects libaccel_profiler_runtime, which links the C library alone. No exceptions, no RTTI, no guards of static
# variables and no allocation by operator new: nothing of the C++ runtime is needed, so a C program can link the archive.
set(ACCEL_RUNTIME_OPTIONS -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-math-errno)

accel_layer(runtime LINK accel_base)
get_target_property(accel_runtime_type accel_runtime TYPE)
if(NOT accel_runtime_type STREQUAL "INTERFACE_LIBRARY")
  target_compile_options(accel_runtime PRIVATE ${ACCEL_RUNTIME_OPTIONS})
endif()

if(ACCEL_BENCHMARKS)
  add_subdirectory(benchmarks/hot_path)
endif()
