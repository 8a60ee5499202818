"""What runs inside the training process: the recorder, the hooks in torch, and what they share. One in a process."""

import importlib
import os
import sys
import threading

from accel.profiler.actions import Actions
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
        self.actions = Actions(self)
        self.job_store = None
        self._wants_agreement = False
        self._window_open = False
        self.window_detail = ""
        self.stages = None
        self.wants_losses = False
        self._uninstall = []
        self._torch_waits = None
        self.pid = os.getpid()
        self.signal = True
        self.rank = self.world_size = None
        self.max_seconds = 60
        self.plan = None
        self.experiment = None
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
        rank, world_size = self.rank_and_world_size()
        flags = 0 if self.signal else self.recorder.NO_SIGNAL
        status = self.recorder.enable(self.output, -1 if rank is None else rank, -1 if world_size is None else world_size, flags,
                                      self.max_seconds)
        self.is_on = status == 0
        rules = os.environ.get("ACCEL_PROFILER_RULES")
        limit_s = (self.plan or {}).get("step_limit_s")
        if self.is_on and limit_s:
            self.actions.watch(limit_s)
        if self.is_on and rules:  # the recorder has read them
            try:
                with open(rules) as file:
                    self.rule_added(file.read())
            except OSError as error:
                self.note(f"the file of rules cannot be read: {error}")
        return status

    def rank_and_world_size(self) -> tuple[int | None, int | None]:
        """As given, of the environment, else of the process group; None: the recorder looks for it."""
        if self.rank is not None or self.world_size is not None:
            return self.rank, self.world_size
        try:
            return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        except (KeyError, ValueError):
            return _rank_of_process_group()

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

    # No call here starts CUDA: a program that forks afterwards could not use it in its children any more.

    @property
    def on_host(self) -> bool:
        """The processor is the device of the job. Sure once the job has begun to train."""
        return not self.uses_cuda() if self.is_on else not self._may_use_cuda()

    def uses_cuda(self) -> bool:
        torch = sys.modules.get("torch")
        return torch is not None and torch.cuda.is_initialized()

    def _may_use_cuda(self) -> bool:
        torch = sys.modules.get("torch")
        built_for_it = torch is not None and (torch.version.cuda or torch.version.hip)
        return bool(built_for_it) and any(map(os.path.exists, ("/proc/driver/nvidia/version", "/dev/kfd", "/dev/dxg")))

    # ---- rules and windows ----

    def rule_added(self, text: str) -> None:
        self.wants_losses = True
        self.actions.start()
        if "@global" in text:
            self._wants_agreement = True
            self._join_job()

    def _join_job(self) -> None:
        """Listens to what other ranks ask for, as soon as the process group is there."""
        from accel.profiler.job_store import JobStore

        try:
            self.job_store = JobStore.of_job(self)
        except Exception as error:
            self._wants_agreement = False
            self.note(f"rules with @global record this rank alone: {type(error).__name__}: {error}")
        if self.job_store is not None:
            self.job_store.listen()
            self.recorder.listen_for_agreements(True)

    def capture(self, plan) -> int:
        """Arms a window by a Schedule; the recorder's status."""
        steady_wait, start = plan.steady_wait, 0
        if (self.rank_and_world_size()[1] or 1) > 1 and self.steps is not None:
            start = max(1, self.steps.index + plan.wait + steady_wait + plan.warmup)
        status = self.recorder.capture(plan.wait, plan.warmup, plan.active, plan.repeat, plan.level, steady_wait, start)
        if status == 0:
            self.window_detail = plan.detail
        return status

    def capture_from(self, step: int, steps: int, level: int) -> bool:
        """A window whose first kept step is `step`."""
        self.window_detail = ""
        return self.recorder.capture(0, 1, steps, 1, level, 0, step) == 0

    def _window_written(self) -> None:
        path = self.recorder.capture_path()
        if path is not None and self.callbacks.wants_findings:
            threading.Thread(target=self._tell_findings, args=(path,), name="accel-findings", daemon=True).start()

    def _tell_findings(self, path: str) -> None:
        from accel.profiler.result import analyze

        self.ops.wait(60)
        ops = path.removesuffix(".accel") + ".pt.trace.json.gz"
        try:
            result = analyze(ops if os.path.exists(ops) else path, options=("--threads", "1"), background=True)
        except Exception as error:
            self.note(f"the window could not be analysed: {error}")
            return
        for finding in result.findings:
            self.callbacks.finding(finding)

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
        if state == ACTIVE:
            self._window_open = True
        elif self._window_open and state <= WATCHING:
            self._window_open = False
            self._window_written()
            self.window_detail = ""
        if self.stages is not None:
            self.stages.step(step, state)
        if self._wants_agreement and self.job_store is None and step & (step - 1) == 0:
            self._join_job()
        self.callbacks.step(step)

    def close(self) -> None:
        """The end of the process, or of the profiler: what is open is written."""
        self.actions.stop()
        if self.job_store is not None:
            self.recorder.listen_for_agreements(False)
            self.job_store.close()
        if self.stages is not None:
            self.stages.close()
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
