# bin/accel-profiler, with the libraries that a bare system lacks beside it in lib/accel-profiler.
set_target_properties(accel-profiler PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/accel-profiler")
target_link_options(accel-profiler PRIVATE -Wl,--disable-new-dtags)
install(TARGETS accel-profiler RUNTIME DESTINATION bin COMPONENT command)
install(FILES LICENSE NOTICE THIRD_PARTY_NOTICES.md DESTINATION share/doc/accel-profiler COMPONENT command OPTIONAL)
install(CODE "set(accel_program \"$<TARGET_FILE:accel-profiler>\")" COMPONENT command)
install(SCRIPT "${CMAKE_SOURCE_DIR}/cmake/copy_libraries.cmake" COMPONENT command)
# The schema of report.json, as the program itself states it.
install(CODE [[
  set(schema "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share/accel-profiler/report.schema.json")
  get_filename_component(folder "${schema}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  execute_process(COMMAND "${accel_program}" list schema OUTPUT_FILE "${schema}" COMMAND_ERROR_IS_FATAL ANY)
]] COMPONENT command)
