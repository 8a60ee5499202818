"""Inside a process that `accel-profiler run` started: hooks go into torch when it is imported, and the recorder is switched on
by the first sign of training. Launchers, loader workers and compiler processes never get there."""

import json
import os

OPTIONS = "ACCEL_PROFILER_RUN"


def prepare() -> None:
    """Called by the start-up file. Looks for torch and loads nothing before it."""
    if os.environ.get("ACCEL_PROFILER_DISABLE") == "1":
        return
    plan = json.loads(os.environ[OPTIONS])
    from accel.profiler.import_hook import when_imported

    when_imported("torch", lambda: _hook(plan))


def _hook(plan: dict) -> None:
    from accel.profiler.auto_profiler import AutoProfiler

    AutoProfiler.prepare(plan)
