"""Inside a process that `accel-profiler run` started: hooks go into torch when it is imported, and the recorder is switched on
by the first sign of training. Launchers, loader workers and compiler processes never get there."""

import json
import os

OPTIONS = "ACCEL_PROFILER_RUN"


def prepare() -> None:
    """Called by the start-up file. Never raises."""
    if os.environ.get("ACCEL_PROFILER_DISABLE") == "1":
        return
    from accel.profiler.auto_profiler import AutoProfiler

    AutoProfiler.prepare(json.loads(os.environ[OPTIONS]))
