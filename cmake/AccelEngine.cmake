# libaccel_profiler_engine: the engine for C++ programs, with the symbols of its public headers alone. It carries the
# layers and needs the libraries that the program needs; the install tree keeps them beside it.
add_library(accel_profiler_engine SHARED $<TARGET_OBJECTS:accel_capi>)
target_link_libraries(accel_profiler_engine PRIVATE accel_report)
target_include_directories(accel_profiler_engine INTERFACE "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>"
                                                           "$<INSTALL_INTERFACE:include>")
set_target_properties(accel_profiler_engine PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 1 EXPORT_NAME engine
                      INSTALL_RPATH "$ORIGIN/accel-profiler")
target_compile_features(accel_profiler_engine INTERFACE cxx_std_20)
target_link_options(accel_profiler_engine PRIVATE -Wl,--exclude-libs,ALL -Wl,--disable-new-dtags)

install(TARGETS accel_profiler_engine EXPORT accel-profiler-engine-targets LIBRARY DESTINATION lib COMPONENT engine)
install(FILES include/accel/profiler/what_if.h DESTINATION include/accel/profiler COMPONENT engine)
install(EXPORT accel-profiler-engine-targets NAMESPACE accel-profiler:: DESTINATION "${accel_package}" COMPONENT engine)
install(FILES "${CMAKE_BINARY_DIR}/accel-profiler-config.cmake" "${CMAKE_BINARY_DIR}/accel-profiler-config-version.cmake"
        DESTINATION "${accel_package}" COMPONENT engine)
install(CODE "set(accel_program \"$<TARGET_FILE:accel-profiler>\")" COMPONENT engine)
install(SCRIPT "${CMAKE_SOURCE_DIR}/cmake/copy_libraries.cmake" COMPONENT engine)

if(ACCEL_TESTS)
  add_executable(example_cpp_what_if examples/cpp/what_if.cpp)
  target_link_libraries(example_cpp_what_if PRIVATE accel_flags accel_profiler_engine)
  set_target_properties(example_cpp_what_if PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/examples")
endif()
