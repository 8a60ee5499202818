/* The recorder inside a C program: fits a line by gradient descent and takes one window of steps. */
#include <stdio.h>
#include <stdlib.h>

#include <accel/profiler/runtime_c.h>

#define SAMPLES 20000

static double x[SAMPLES], y[SAMPLES];

int main(int argc, char** argv) {
  accel_options options = ACCEL_OPTIONS_INIT;
  accel_schedule schedule = ACCEL_SCHEDULE_INIT;
  accel_name forward, update;
  double slope = 0, offset = 0;
  char path[1024];
  int step, i;

  options.output = argc > 1 ? argv[1] : NULL;
  if (accel_runtime_abi_version() != ACCEL_RUNTIME_ABI_VERSION) return 2;
  accel_enable(&options);
  forward = accel_name_of("op", "forward and gradient");
  update = accel_name_of("op", "update");
  accel_capture(&schedule);

  for (i = 0; i < SAMPLES; ++i) {
    x[i] = (double)(i % 1000) / 1000;
    y[i] = 3 * x[i] + 1;
  }
  for (step = 0; step < 2000; ++step) {
    accel_step_info info = ACCEL_STEP_INFO_INIT;
    double loss = 0, by_slope = 0, by_offset = 0;
    accel_scope scope = accel_scope_begin(forward);
    for (i = 0; i < SAMPLES; ++i) {
      const double error = slope * x[i] + offset - y[i];
      loss += error * error / SAMPLES;
      by_slope += 2 * error * x[i] / SAMPLES;
      by_offset += 2 * error / SAMPLES;
    }
    accel_scope_end_with(scope, accel_args_of("[[20000]]", "f64"), sizeof x + sizeof y);
    scope = accel_scope_begin(update);
    slope -= 0.5 * by_slope;
    offset -= 0.5 * by_offset;
    accel_scope_end(scope);
    info.loss = loss;
    info.samples = SAMPLES;
    accel_step(&info);
  }
  accel_disable();
  accel_wait(5000);
  if (accel_capture_path(path, sizeof path) != ACCEL_OK) return 1;
  printf("slope %.3f, offset %.3f, capture %s\n", slope, offset, path);
  return 0;
}
