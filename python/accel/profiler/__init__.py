"""accel.profiler: says why a training step is slow, from inside a PyTorch job.

    from accel.profiler import AutoProfiler, TriggerRule
    AutoProfiler.enable()                     # asleep: nothing is recorded
    TriggerRule("p50(step_time_ms, 20) > 1.15 * baseline_step_ms")

    import accel.profiler as ap
    with ap.scope("tokenise"): ...            # a stage of your own, in every recording
    print(ap.analyze("accel-captures"))       # the diagnosis

Importing this module imports no torch and starts nothing: names are loaded when they are first used.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "AutoProfiler": "auto_profiler",
    "TriggerRule": "trigger_rule",
    "RuleError": "trigger_rule",
    "scope": "scopes",
    "schedule": "schedules",
    "Schedule": "schedules",
    "analyze": "result",
    "join_stages": "staged_result",
    "Result": "result",
    "ProfilerError": "errors",
}

__all__ = [*_HOME, "__version__"]


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'accel.profiler' has no attribute {name!r}")
    value = getattr(import_module(f"accel.profiler.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
