"""What runs inside the training process: the recorder, the hooks in torch, and what they share. One in a process."""

import importlib
import os
import sys

from accel.profiler.callbacks import Callbacks
from accel.profiler.errors import recorder

WATCHING, ACTIVE = 2, 4


class Session:
    def __init__(self, output: str):
        self.recorder = recorder()
        self.output = output
        self.notes = []
        self.ops_failed = False
        self.steps = None
        self.ops = None
        self.callbacks = Callbacks()
        self.wants_losses = False
        self._uninstall = []
        self._torch_waits = None
        self.pid = os.getpid()
        self.signal = True
        self.rank = self.world_size = None
        self.max_seconds = 60
        self.plan = None
        self.is_on = False
        self.on_first_event = None

    def first_event(self) -> None:
        """The first sign of training in this process."""
        action, self.on_first_event = self.on_first_event, None
        if action is None:
            return
        self.pid = os.getpid()
        try:
            action()
        except Exception as error:
            self.note(str(error))

    def switch_on(self) -> int:
        rank, world_size = self.rank, self.world_size
        if rank is None and "RANK" not in os.environ:
            rank, world_size = _rank_of_process_group()
        flags = 0 if self.signal else self.recorder.NO_SIGNAL
        status = self.recorder.enable(self.output, -1 if rank is None else rank, -1 if world_size is None else world_size, flags,
                                      self.max_seconds)
        self.is_on = status == 0
        return status

    # ---- hooks ----

    def install(self) -> None:
        """Puts the hooks into torch: now when it is there, else when it has been imported."""
        if "torch" in sys.modules and hasattr(sys.modules["torch"], "nn"):
            self._install_hooks()
            return
        from accel.profiler.import_hook import when_imported

        self._torch_waits = when_imported("torch", self._install_hooks)

    def _install_hooks(self) -> None:
        from accel.profiler.hooks import PLACES

        try:
            from accel.profiler.op_window import OpWindow
            from accel.profiler.step_tracker import StepTracker

            self.ops = OpWindow(self)
            self.steps = StepTracker(self)
        except Exception as error:
            self.note(f"steps are not recorded: {type(error).__name__}: {error}")
            return
        for place in PLACES:
            try:
                self._uninstall.append(importlib.import_module(f"accel.profiler.hooks.{place}").install(self))
            except Exception as error:
                self.note(f"{place} are not recorded: {type(error).__name__}: {error}")

    def uninstall(self) -> None:
        if self._torch_waits is not None:
            self._torch_waits()
        for undo in reversed(self._uninstall):
            try:
                undo()
            except Exception as error:
                self.note(f"a hook could not be taken out: {error}")
        self._uninstall.clear()
        self.recorder.set_on_due(None)
        self.recorder.set_due(False)

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.recorder.mark(text)

    # ---- facts ----

    @property
    def on_host(self) -> bool:
        """The job has no device to run on."""
        torch = sys.modules.get("torch")
        try:
            return not (torch.cuda.is_available() if torch is not None else False)
        except Exception:
            return True

    def uses_cuda(self) -> bool:
        torch = sys.modules.get("torch")
        return torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized()

    # ---- steps ----

    def before_step(self, _step: int) -> None:
        self.ops.before_step()

    def after_step(self, step: int) -> None:
        state = self.recorder.state()
        self.wants_losses = state >= WATCHING
        if state == ACTIVE or self.ops.running:
            self.ops.after_step(step)
        elif self.ops._profiler is not None:
            self.ops.finish()
        self.callbacks.step(step)

    def close(self) -> None:
        """The end of the process, or of the profiler: what is open is written."""
        if self.steps is not None:
            self.ops.finish(cut=True)  # when the last step ended is not known
        self.recorder.disable()
        self.recorder.wait(2000)
        if self.ops is not None:
            self.ops.wait(30)


def _rank_of_process_group():
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
    except Exception:
        pass
    return None, None
