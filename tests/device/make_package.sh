#!/bin/sh
# Builds what a GPU machine needs into build/device: make_package.sh [PYTHON] (the interpreter's version must be that of
# the GPU machine, for example 3.12; without it no wheel is made). The package holds every library that a bare system
# lacks: nothing is installed there. Carry build/device to the machine, beside tests/device, and run tests/device/run.sh.
#
#   build/device/bin/accel-profiler                       the command, its libraries in lib/accel-profiler
#   build/device/lib/libaccel_profiler_runtime.so.1       the recorder
#   build/device/examples/example_cpp_slow_loader         a C++ program that records itself
#   build/device/*.whl                                    the Python package
set -eu
cd "$(dirname "$0")/../.."
tools/setup.sh test
[ -f build/build.ninja ] || cmake --preset dev --log-level=WARNING >/dev/null
cmake --build build -j "$(nproc)" --target accel-profiler accel_profiler_runtime example_cpp_slow_loader
rm -rf build/device
mkdir -p build/device/examples build/device/lib
cmake --install build --component command --prefix "$PWD/build/device" --strip >/dev/null
strip -s -o build/device/lib/libaccel_profiler_runtime.so.1 build/libaccel_profiler_runtime.so.1
cp build/examples/example_cpp_slow_loader build/device/examples/
if [ $# -gt 0 ]; then
  .venv/bin/python tools/python_env.py "build/python-$(basename "$(dirname "$(dirname "$1")")")" --python "$1" --wheels build/device
fi
tests/device/run.sh --check
du -sh build/device
