# The extension module of the Python package, and what a wheel carries: scikit-build-core configures with this
# (pyproject.toml); the daily build does not need Python.
# ACCEL_PREBUILT=DIR takes the command and the runtime library from a finished build folder instead of building them.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
                OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

nanobind_add_module(_runtime NB_STATIC python/bindings/module.cpp python/bindings/recording_calls.cpp
                    python/bindings/scope.cpp)
target_include_directories(_runtime PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/include")
if(ACCEL_PREBUILT)
  add_library(accel_prebuilt_runtime SHARED IMPORTED)
  set_target_properties(accel_prebuilt_runtime PROPERTIES IMPORTED_LOCATION "${ACCEL_PREBUILT}/libaccel_profiler_runtime.so"
                                                          IMPORTED_SONAME libaccel_profiler_runtime.so.1)
  target_link_libraries(_runtime PRIVATE accel_prebuilt_runtime)
  set(accel_program "${ACCEL_PREBUILT}/accel-profiler")
  set(accel_runtime_library "${ACCEL_PREBUILT}/libaccel_profiler_runtime.so.1")
else()
  target_link_libraries(_runtime PRIVATE accel_profiler_runtime)
  set(accel_program "$<TARGET_FILE:accel-profiler>")
  set(accel_runtime_library "$<TARGET_SONAME_FILE:accel_profiler_runtime>")
endif()
set_target_properties(_runtime PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/_engine/lib")

add_custom_target(accel_python_package DEPENDS _runtime)
if(NOT ACCEL_PREBUILT)
  add_dependencies(accel_python_package accel-profiler accel_profiler_runtime)
endif()

# accel/profiler/_engine/{bin,lib/accel-profiler}: the tree of the command, as an installation lays it out.
set(accel_package_folder accel/profiler)
install(TARGETS _runtime LIBRARY DESTINATION ${accel_package_folder} COMPONENT python)
install(PROGRAMS "${accel_program}" DESTINATION ${accel_package_folder}/_engine/bin COMPONENT python)
install(CODE "set(accel_program \"${accel_program}\")" COMPONENT python)
install(CODE "set(accel_library_folder \"${accel_package_folder}/_engine/lib/accel-profiler\")" COMPONENT python)
install(SCRIPT "${CMAKE_CURRENT_SOURCE_DIR}/cmake/copy_libraries.cmake" COMPONENT python)
# The file that is copied is the one behind the links.
install(CODE "file(REAL_PATH \"${accel_runtime_library}\" library)
file(INSTALL \"\${library}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${accel_package_folder}/_engine/lib\" RENAME libaccel_profiler_runtime.so.1)"
        COMPONENT python)
install(DIRECTORY python/accel DESTINATION . COMPONENT python FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "*.json")
# The command, and the start-up module of `accel-profiler run`, whose .pth line looks at one environment variable.
install(FILES python/accel_profiler_command.py python/accel_profiler_start.py python/accel_profiler_start.pth DESTINATION .
        COMPONENT python)
