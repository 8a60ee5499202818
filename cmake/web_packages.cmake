# Installs the packages of FROM/package-lock.json into TO/node_modules.
file(MAKE_DIRECTORY "${TO}")
foreach(file package.json package-lock.json .npmrc)
  file(COPY_FILE "${FROM}/${file}" "${TO}/${file}")
endforeach()
execute_process(COMMAND "${NPM}" ci --ignore-scripts --no-audit --no-fund --loglevel=error
                WORKING_DIRECTORY "${TO}" RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "npm could not install the packages that build the report page:\n${output}\n"
                      "Without a network for npm, configure with -DACCEL_WEB=OFF: everything but report.html works.")
endif()
file(WRITE "${TO}/installed" "")
