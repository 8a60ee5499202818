# The report page: web/ (TypeScript) bundled by esbuild into one file that the program carries. Its packages are
# installed below the build folder, from the registry that npm is configured for.
option(ACCEL_WEB "carry the page of report.html (needs node and npm)" ON)
set(accel_page "${CMAKE_BINARY_DIR}/generated/report/html/page.cpp")

if(ACCEL_WEB)
  find_program(ACCEL_NODE NAMES node nodejs)
  find_program(ACCEL_NPM NAMES npm)
  if(NOT ACCEL_NODE OR NOT ACCEL_NPM)
    message(FATAL_ERROR "node and npm build the report page and are missing: tools/setup.sh build installs them; "
                        "or configure with -DACCEL_WEB=OFF for a program without report.html")
  endif()
  set(accel_web "${CMAKE_BINARY_DIR}/web")
  add_custom_command(
    OUTPUT "${accel_web}/installed"
    COMMAND ${CMAKE_COMMAND} -DFROM=${CMAKE_SOURCE_DIR}/web -DTO=${accel_web} -DNPM=${ACCEL_NPM}
            -P "${CMAKE_SOURCE_DIR}/cmake/web_packages.cmake"
    DEPENDS web/package.json web/package-lock.json web/.npmrc cmake/web_packages.cmake
    COMMENT "Installing the packages that build the report page" VERBATIM)
  file(GLOB_RECURSE accel_web_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/web/src/*")
  add_custom_command(
    OUTPUT "${accel_page}"
    COMMAND "${ACCEL_NODE}" "${CMAKE_SOURCE_DIR}/web/build.mjs" "${accel_web}" "${accel_page}"
    DEPENDS "${accel_web}/installed" web/build.mjs web/tsconfig.json ${accel_web_sources}
    COMMENT "Building the report page" VERBATIM)
else()
  file(CONFIGURE OUTPUT "${accel_page}" CONTENT [[
#include "report/html/page.h"

namespace accel::report {
const std::string_view kPageHead = "";
const std::string_view kPageTail = "";
}  // namespace accel::report
]])
endif()
target_sources(accel_report PRIVATE "${accel_page}")
