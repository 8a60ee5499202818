"""Level 2: torch.profiler goes along with a window of the recorder, and its trace is written beside the capture.

Every op with shapes, what ran on a device, and our scopes as user ranges, in one file of torch's own format:
NAME.accel gets NAME.pt.trace.json.gz. `accel-profiler analyze` takes the second in place of the first.
When the user's own profiler records, ours does not start, or stops with what it has.
"""

import gzip
import os
import shutil
import threading
import time

KEPT, WARMUP = 3, 2


class OpWindow:
    def __init__(self, session):
        self._session = session
        self._profiler = None
        self._step_range = None
        self._started = False
        self._writer = None
        self._ours = False  # a start of the profiler in progress is our own
        self.running = False

    # ---- at step marks, on the training thread ----

    def before_step(self) -> None:
        if self._step_range is not None:
            self._step_range.__exit__(None, None, None)
            self._step_range = None

    def after_step(self, step: int) -> None:
        phase, level = self._session.recorder.window_now()
        if self._profiler is None:
            if phase == 0 or level < 2 or self._session.ops_failed or self._taken():
                return
            self._guarded(self._prepare)
        if self._profiler is not None and phase == KEPT and not self._started:
            self._guarded(self._start)
        if self._started and phase == KEPT:
            self._open_range(step + 1)
        elif self._profiler is not None and phase == 0:
            self.finish()

    def finish(self, cut: bool = False) -> None:
        """Stops, and writes the trace on a thread of its own. cut: in the middle of a step, which is left out."""
        if self._profiler is None:
            return
        if not cut:
            self.before_step()
        self._guarded(self._stop)
        self.before_step()

    def wait(self, seconds: float) -> None:
        if self._writer is not None:
            self._writer.join(seconds)

    # ---- torch.profiler ----

    def _taken(self) -> bool:
        from torch.autograd import profiler

        return bool(getattr(profiler, "_is_profiler_enabled", False))

    def _guarded(self, action) -> None:
        try:
            self._ours = True
            action()
        except Exception as error:
            self._session.note(f"ops are not recorded: {type(error).__name__}: {error}")
            self._session.ops_failed = True
            self._profiler, self._started, self.running = None, False, False
            self._session.recorder.set_annotations(None, None)
        finally:
            self._ours = False

    def _prepare(self) -> None:
        from torch.profiler import ProfilerActivity, _KinetoProfile

        activities = [ProfilerActivity.CPU]
        if self._session.uses_cuda():
            activities.append(ProfilerActivity.CUDA)
        self._on_host = len(activities) == 1
        self._watch_others()
        detail = self._session.window_detail
        profiler = _KinetoProfile(activities=activities, record_shapes=True, profile_memory=detail == "memory", with_stack=detail == "stacks")
        profiler.prepare_trace()
        self._profiler = profiler

    def _start(self) -> None:
        self._profiler.start_trace()
        self._started = self.running = True
        if self._on_host:
            self._profiler.add_metadata("accel_device", "cpu")
        self._session.recorder.set_annotations(*_range_calls())

    def _open_range(self, step: int) -> None:
        from torch.autograd.profiler import record_function

        self._step_range = record_function(f"ProfilerStep#{step}")
        self._step_range.__enter__()

    def _stop(self) -> None:
        profiler, self._profiler = self._profiler, None
        started, self._started, self.running = self._started, False, False
        self._session.recorder.set_annotations(None, None)
        if not started:
            profiler.profiler._start_trace()  # what is prepared can only be ended by a start and a stop
            profiler.stop_trace()
            return
        profiler.stop_trace()
        capture = self._session.recorder.capture_path()
        stem = capture.removesuffix(".accel") if capture else os.path.join(self._session.output, f"pid{os.getpid()}")
        # Not a daemon: the process ends after its trace is written.
        self._writer = threading.Thread(target=_write, args=(profiler, f"{stem}.pt.trace.json.gz"), name="accel-trace")
        self._writer.start()

    def _watch_others(self) -> None:
        """The user's profiler comes first: ours stops before it prepares."""
        from torch.autograd import profiler

        original = profiler.profile._prepare_trace
        if getattr(original, "_accel", False):
            return
        window = self

        def _prepare_trace(self):
            if window.running and not window._ours:
                window._session.note("ops are recorded up to where the program's own profiler began")
                window.finish()
                window._session.ops_failed = True
            return original(self)

        _prepare_trace._accel = True
        profiler.profile._prepare_trace = _prepare_trace


def _range_calls():
    import torch

    enter = getattr(torch.autograd, "_record_function_with_args_enter", None)
    leave = getattr(torch.autograd, "_record_function_with_args_exit", None)
    return (enter, leave) if enter and leave else (None, None)


def _write(profiler, path: str) -> None:
    folder, name = os.path.split(path)
    plain = os.path.join(folder, f".{name}.{time.monotonic_ns()}.json")
    packed = plain + ".gz"
    try:
        profiler.export_chrome_trace(plain)
        with open(plain, "rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
            shutil.copyfileobj(source, target, 1 << 20)
        os.replace(packed, path)
    finally:
        for leftover in (plain, packed):
            if os.path.exists(leftover):
                os.unlink(leftover)
