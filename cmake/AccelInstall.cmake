# bin/accel-profiler, with the libraries that a bare system lacks beside it in lib/accel-profiler.
set_target_properties(accel-profiler PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/accel-profiler")
target_link_options(accel-profiler PRIVATE -Wl,--disable-new-dtags)
install(TARGETS accel-profiler RUNTIME DESTINATION bin COMPONENT command)
install(FILES LICENSE NOTICE THIRD_PARTY_NOTICES.md DESTINATION share/doc/accel-profiler COMPONENT command OPTIONAL)
install(CODE "set(accel_program \"$<TARGET_FILE:accel-profiler>\")" COMPONENT command)
install(SCRIPT "${CMAKE_SOURCE_DIR}/cmake/copy_libraries.cmake" COMPONENT command)
