"""Python's garbage collector: a scope, and the time of each step spent in it."""

import gc
import time


def install(session):
    recorder = session.recorder
    scope = recorder.Scope("Python garbage collection", category="garbage_collection")
    start = 0

    def collected(phase, _info):
        nonlocal start
        if phase == "start":
            start = time.perf_counter_ns()
            scope.__enter__()
            return
        scope.__exit__(None, None, None)
        session.steps.gc_ns += time.perf_counter_ns() - start

    gc.callbacks.append(collected)

    def uninstall():
        if collected in gc.callbacks:
            gc.callbacks.remove(collected)

    return uninstall
