# The libraries of the system. Versions: Debian 12 and 13 are tested; both are covered by the lower bounds here.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt 9 REQUIRED)
# simdjson's own version file accepts the same minor version only, so the lower bound is checked here.
find_package(simdjson REQUIRED)
if(simdjson_VERSION VERSION_LESS 3)
  message(FATAL_ERROR "simdjson 3.0 or newer is needed, found ${simdjson_VERSION}")
endif()
find_package(CLI11 2.1 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)

# The development checks change the layout of On-Demand's parser and cost a third of its speed; they are wanted in
# sanitizer builds only, and must be the same in every file.
if(ACCEL_SANITIZE)
  set_property(TARGET simdjson::simdjson APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS SIMDJSON_DEVELOPMENT_CHECKS=1)
else()
  set_property(TARGET simdjson::simdjson APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS SIMDJSON_DEVELOPMENT_CHECKS=0)
endif()

# Inflate: ISA-L where it exists, zlib elsewhere.
add_library(accel_compression INTERFACE)
pkg_check_modules(ACCEL_ISAL IMPORTED_TARGET libisal)
if(ACCEL_ISAL_FOUND)
  target_link_libraries(accel_compression INTERFACE PkgConfig::ACCEL_ISAL)
  target_compile_definitions(accel_compression INTERFACE ACCEL_HAVE_ISAL=1)
else()
  find_package(ZLIB REQUIRED)
  target_link_libraries(accel_compression INTERFACE ZLIB::ZLIB)
endif()
pkg_check_modules(ACCEL_ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(ACCEL_MINIZIP REQUIRED IMPORTED_TARGET minizip)
target_link_libraries(accel_compression INTERFACE PkgConfig::ACCEL_ZSTD PkgConfig::ACCEL_MINIZIP)

pkg_check_modules(ACCEL_SQLITE REQUIRED IMPORTED_TARGET sqlite3)
add_library(accel_sqlite INTERFACE)
target_link_libraries(accel_sqlite INTERFACE PkgConfig::ACCEL_SQLITE)
