"""Start-up of `accel-profiler run`: imported by accel_profiler_start.pth while ACCEL_PROFILER_RUN is set. Whatever happens
here, the program starts."""

try:
    from accel.profiler.start import prepare

    prepare()
except Exception as error:
    import os
    import sys

    if os.environ.get("ACCEL_PROFILER_DEBUG"):
        raise
    clash = ""
    accel = sys.modules.get("accel")
    if accel is not None and getattr(accel, "__file__", None):
        clash = f"; another package named accel hides ours: {accel.__file__}"
    print(f"accel-profiler: nothing will be recorded: {error}{clash}", file=sys.stderr)
