#include "cli/app.h"
#include "cli/out_of_memory.h"

int main(int argc, char** argv) {
  accel::cli::install_out_of_memory_handler();
  return accel::cli::run_command_line(argc, argv);
}
