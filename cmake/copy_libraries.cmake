# Runs at install time: copies every shared library that the program needs and that is no part of a bare Linux system
# (C library, compiler runtime) to lib/accel-profiler. The copies find each other because a program's RPATH of the old
# kind (DT_RPATH, set by the link options of the program) also serves the libraries it loads.
if(NOT accel_library_folder)
  set(accel_library_folder lib/accel-profiler)
endif()
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES "${accel_program}"
  RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES "^ld-linux" "^libc\\.so" "^libm\\.so" "^libdl\\.so" "^libpthread\\.so" "^librt\\.so" "^libgcc_s\\.so"
                      "^libstdc\\+\\+\\.so" "^linux-vdso")
if(missing)
  message(FATAL_ERROR "libraries not found: ${missing}")
endif()
foreach(library IN LISTS libraries)
  file(INSTALL "${library}" DESTINATION "${CMAKE_INSTALL_PREFIX}/${accel_library_folder}" FOLLOW_SYMLINK_CHAIN)
endforeach()
