# Language, warnings, visibility and sanitizers, as one interface target that every target of ours links.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "build type" FORCE)
endif()
# RelWithDebInfo is the daily build here: optimised, and assertions stay on. Release turns them off.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

add_library(accel_flags INTERFACE)
target_compile_options(accel_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow
  "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
if(ACCEL_WERROR)
  target_compile_options(accel_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 reports overlapping copies inside std::string::operator+ that do not exist (GCC bug 105651).
  target_compile_options(accel_flags INTERFACE -Wno-restrict)
endif()

if(ACCEL_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  target_compile_options(accel_flags INTERFACE "-fsanitize=${ACCEL_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(accel_flags INTERFACE "-fsanitize=${ACCEL_SANITIZE}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The instrumented code confuses g++'s flow analysis; the plain build keeps these warnings.
    target_compile_options(accel_flags INTERFACE
      -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-null-dereference)
  endif()
endif()

find_program(ACCEL_CCACHE ccache)
if(ACCEL_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the source folder are hashed relative, so that several checkouts share one cache.
  set(accel_launcher ${CMAKE_COMMAND} -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 ${ACCEL_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${accel_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${accel_launcher})
endif()
