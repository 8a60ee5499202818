#!/bin/sh
# On a machine with an NVIDIA GPU: everything in tests/device that judges itself, by one command.
#
#   tests/device/run.sh [OUT_DIR] [CHECK]...      OUT_DIR [build/device-results]; CHECK: counters, windows, framework [all]
#   tests/device/run.sh --check                   only whether the package is whole; needs no GPU
#
# The package comes from tests/device/make_package.sh (build/device) and needs nothing installed but Python; `windows` and
# `framework` need torch with CUDA too. OUT_DIR gets a log of each check. Exit status 1 when one failed, 2 when the
# package is not whole.
set -u
cd "$(dirname "$0")/../.."
package=$PWD/build/device

whole() {
  for file in bin/accel-profiler lib/libaccel_profiler_runtime.so.1 examples/example_cpp_slow_loader; do
    [ -e "$package/$file" ] || { echo "run: build/device/$file is missing: tests/device/make_package.sh makes it" >&2; return 1; }
  done
  # The bare environment: what the loader finds then, it finds anywhere with this C library or a newer one.
  if env -i LD_TRACE_LOADED_OBJECTS=1 "$package/bin/accel-profiler" | grep 'not found' >&2; then
    echo "run: the command lacks these libraries" >&2
    return 1
  fi
  foreign=$(env -i LD_TRACE_LOADED_OBJECTS=1 "$package/bin/accel-profiler" | awk '$2 == "=>" { print $1, $3 }' |
    grep -v -E '^(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+)\.so' | grep -v " $package/" || true)
  [ -z "$foreign" ] || { echo "run: these come from this system, not from the package:"; echo "$foreign"; return 1; } >&2
  env -i "$package/bin/accel-profiler" --version || return 1
}

whole || exit 2
[ "${1:-}" != --check ] || exit 0

out=${1:-build/device-results}
[ $# -eq 0 ] || shift
mkdir -p "$out"
failed=
run() { # NAME COMMAND...
  name=$1
  shift
  echo "== $name"
  if "$@" > "$out/$name.log" 2>&1; then
    echo "   passed"
  else
    echo "   FAILED with status $?; the end of $out/$name.log:"
    tail -n 5 "$out/$name.log"
    failed="$failed $name"
  fi
}
wanted() { [ -z "$checks" ] || case " $checks " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
checks=$*
for check in $checks; do
  case $check in counters | windows | framework) ;; *) echo "run: no such check: $check" >&2; exit 2 ;; esac
done
if command -v nvidia-smi >/dev/null 2>&1; then nvidia-smi > "$out/nvidia-smi.txt" 2>&1; fi
if wanted counters; then run counters python3 tests/device/native_counters.py "$package"; fi
if wanted windows; then run windows python3 tests/device/device_windows.py "$package/lib/libaccel_profiler_runtime.so.1" "$out/windows"; fi
if wanted framework; then run framework python3 tests/device/framework_layer.py "$out/framework" --wheel "$(ls "$package"/*.whl 2>/dev/null | head -1)"; fi
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
