#!/bin/sh
# Builds the command, the runtime library and the wheel for a GPU machine into build/device: make_package.sh PYTHON
# (the interpreter's version must be that of the GPU machine, for example 3.12). Carry build/device there and run
#   python3 tests/device/framework_layer.py OUT_DIR --wheel build/device/*.whl
set -eu
cd "$(dirname "$0")/../.."
python=${1:?the interpreter for which the package is built}
tools/setup.sh test
[ -f build/build.ninja ] || cmake --preset dev --log-level=WARNING >/dev/null
cmake --build build -j "$(nproc)" --target accel-profiler accel_profiler_runtime
.venv/bin/python tools/python_env.py "build/python-$(basename "$(dirname "$(dirname "$python")")")" --python "$python" --wheels build/device
strip -s -o build/device/accel-profiler build/accel-profiler
ls -l build/device
