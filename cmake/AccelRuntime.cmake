# The runtime SDK: src/runtime and the writing half of src/format as one layer library for the tests, and from the same
# objects libaccel_profiler_runtime, which links the C library alone. No exceptions, no RTTI, no guards of static
# variables and no allocation by operator new: nothing of the C++ runtime is needed, so a C program can link the archive.
set(ACCEL_RUNTIME_OPTIONS -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-math-errno)

accel_layer(runtime LINK accel_base)
# Not from accel_format: those objects are built with the C++ runtime.
target_sources(accel_runtime PRIVATE src/format/crc32c.cpp src/format/native_layout.cpp src/format/native_writer.cpp)
target_compile_options(accel_runtime PRIVATE ${ACCEL_RUNTIME_OPTIONS})

add_library(accel_profiler_runtime SHARED $<TARGET_OBJECTS:accel_runtime>)
add_library(accel_profiler_runtime_static STATIC $<TARGET_OBJECTS:accel_runtime>)
foreach(target accel_profiler_runtime accel_profiler_runtime_static)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:include>")
  target_link_libraries(${target} PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
endforeach()
set_target_properties(accel_profiler_runtime_static PROPERTIES OUTPUT_NAME accel_profiler_runtime)
set_target_properties(accel_profiler_runtime PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 1)
# nodelete: threads and fork handlers of the library outlive a dlclose.
target_link_options(accel_profiler_runtime PRIVATE -static-libgcc -Wl,--exclude-libs,ALL -Wl,-z,nodelete -Wl,-z,defs -Wl,--as-needed)
if(ACCEL_SANITIZE)
  target_link_options(accel_profiler_runtime PRIVATE "-fsanitize=${ACCEL_SANITIZE}" -Wl,-z,undefs)
endif()

# find_package(accel-profiler): accel-profiler::runtime and accel-profiler::runtime_static.
include(CMakePackageConfigHelpers)
set(accel_package "${CMAKE_INSTALL_LIBDIR}/cmake/accel-profiler")
set_target_properties(accel_profiler_runtime PROPERTIES EXPORT_NAME runtime)
set_target_properties(accel_profiler_runtime_static PROPERTIES EXPORT_NAME runtime_static)
install(TARGETS accel_profiler_runtime accel_profiler_runtime_static EXPORT accel-profiler-targets COMPONENT runtime
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES include/accel/profiler/runtime_c.h include/accel/profiler/runtime.h DESTINATION include/accel/profiler COMPONENT runtime)
install(EXPORT accel-profiler-targets NAMESPACE accel-profiler:: DESTINATION "${accel_package}" COMPONENT runtime)
configure_package_config_file(cmake/accel-profiler-config.cmake.in "${CMAKE_BINARY_DIR}/accel-profiler-config.cmake"
                              INSTALL_DESTINATION "${accel_package}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/accel-profiler-config-version.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${CMAKE_BINARY_DIR}/accel-profiler-config.cmake" "${CMAKE_BINARY_DIR}/accel-profiler-config-version.cmake"
        DESTINATION "${accel_package}" COMPONENT runtime)

if(ACCEL_TESTS)
  foreach(example c/train cpp/slow_loader)
    string(REPLACE "/" "_" target "example_${example}")
    file(GLOB sources "${CMAKE_SOURCE_DIR}/examples/${example}.c" "${CMAKE_SOURCE_DIR}/examples/${example}.cpp")
    add_executable(${target} ${sources})
    target_link_libraries(${target} PRIVATE accel_flags accel_profiler_runtime)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/examples")
  endforeach()
endif()

if(ACCEL_BENCHMARKS)
  add_subdirectory(benchmarks/hot_path)
endif()
