"""AutoProfiler: the profiler inside a training process."""

import atexit
import os

from accel.profiler.errors import ProfilerError, recorder
from accel.profiler.schedules import Schedule

STATES = ("OFF", "IDLE", "WATCHING", "ARMED", "ACTIVE", "DRAINING")
IDLE, WATCHING = 1, 2
BUSY = 2


class AutoProfiler:
    """One in a process; all of it from any thread. Nothing here stops or slows training: what cannot work is a note."""

    _session = None
    _waiting_rules: list[str] = []

    @classmethod
    def enable(cls, output: str | None = None, *, hooks: bool = True, signal: bool = True, rank: int | None = None,
               world_size: int | None = None, max_seconds: int = 60) -> bool:
        """Goes to IDLE: one thread asleep, nothing recorded, no CUDA call. About 1 ms.

        output      folder of captures; $ACCEL_PROFILER_OUTPUT, else accel-captures
        hooks       steps, loss, loading, module calls without user code; False: AutoProfiler.step() and ap.scope alone
        signal      kill -USR1 PID takes a window, where the signal is free
        rank        $RANK and others where not given
        Returns False where the profiler is off in this process: $ACCEL_PROFILER_DISABLE=1, or the child of a fork.
        """
        if cls._session is None:
            if os.environ.get("ACCEL_PROFILER_DISABLE") == "1":
                return False
            from accel.profiler.session import Session

            cls._session = Session(output or os.environ.get("ACCEL_PROFILER_OUTPUT") or "accel-captures")
            if hooks:
                cls._session.install()
        session = cls._session
        session.signal, session.rank, session.world_size, session.max_seconds = signal, rank, world_size, max_seconds
        if not cls._switch_on():
            cls._session = None
            session.uninstall()
            return False
        return True

    @classmethod
    def prepare(cls, plan: dict) -> None:
        """For `accel-profiler run`: as enable(), but the recorder is switched on by the first sign of training."""
        from accel.profiler.session import Session

        if cls._session is not None:
            return
        session = cls._session = Session(plan["output"])
        session.max_seconds = plan.get("max_seconds", 600)
        session.plan = plan
        session.on_first_event = cls._switch_on
        cls._waiting_rules += plan.get("rules", [])
        session.install()

    @classmethod
    def _switch_on(cls) -> bool:
        session = cls._session
        if session.is_on:
            return True
        status = session.switch_on()
        if status == BUSY:
            raise ProfilerError("another copy of accel-profiler is on in this process; disable that one first")
        if status != 0:
            return False
        rules, cls._waiting_rules = cls._waiting_rules, []
        for text in rules:
            cls.add_rule(text)
        if session.plan and session.plan.get("window"):
            window = lambda: cls.capture(Schedule(**session.plan["window"]))
            if session.plan.get("experiment"):
                from accel.profiler.experiments import CachedBatch

                session.experiment = CachedBatch(session, window)
            else:
                window()
        atexit.register(cls._at_exit)
        return True

    @classmethod
    def disable(cls) -> None:
        """Takes every hook out again; an open window is closed and written."""
        session, cls._session = cls._session, None
        if session is None:
            return
        session.uninstall()
        session.close()
        atexit.unregister(cls._at_exit)

    @classmethod
    def _at_exit(cls) -> None:
        if cls._session is not None and cls._session.pid == os.getpid():
            cls._session.close()

    # ---- windows ----

    @classmethod
    def capture(cls, schedule: Schedule | int = 5) -> bool:
        """Arms a window of so many steps, or by a Schedule. False: one is armed or open, or the profiler is off.

        In a job of several ranks step times do not become steady on all at once: there steady_wait is waited out, and ranks that
        ask at the same step keep the same steps.
        """
        plan = Schedule(active=schedule) if isinstance(schedule, int) else schedule
        if cls._session is None:
            return False
        return cls._session.capture(plan) == 0

    @classmethod
    def capture_staged(cls, steps: int = 5) -> bool:
        """Three windows one after the other: scopes alone; ops with shapes and memory; ops with Python frames. `ap.join_stages(folder)`
        joins them: times from the first, which disturbs least, shapes, memory and lines from the others. False: a window is
        armed or open, the profiler is off, or it has no hooks."""
        from accel.profiler.stages import Stages

        session = cls._session
        if session is None or session.steps is None or session.stages is not None or session.recorder.state() not in (IDLE, WATCHING):
            return False
        session.stages = Stages(session, steps)
        return True

    @classmethod
    def stop(cls) -> None:
        """Closes an open window now, or takes back an armed one."""
        if cls._session is not None:
            cls._session.recorder.capture_stop()

    @classmethod
    def newest_capture(cls) -> str | None:
        """Path of the newest capture file."""
        return None if cls._session is None else cls._session.recorder.capture_path()

    @classmethod
    def state(cls) -> str:
        """OFF, IDLE, WATCHING, ARMED, ACTIVE or DRAINING."""
        return STATES[recorder().state()]

    @classmethod
    def notes(cls) -> list[str]:
        """What could not be put into torch, and other things to know."""
        return [] if cls._session is None else list(cls._session.notes)

    # ---- rules and numbers ----

    @classmethod
    def add_rule(cls, text: str) -> None:
        """A line of the trigger language, in force at once or when the profiler is enabled. Raises RuleError."""
        from accel.profiler.trigger_rule import add_to_recorder

        if cls._session is None or not cls._session.is_on:
            cls._waiting_rules.append(text)
            return
        add_to_recorder(text)
        cls._session.rule_added(text)

    @classmethod
    def clear_rules(cls) -> None:
        cls._waiting_rules.clear()
        if cls._session is not None:
            cls._session.recorder.rules_clear()

    @classmethod
    def record(cls, name: str, value: float) -> None:
        """A number that rules may name, and a counter of the recording. About 0.3 us."""
        session = cls._session
        if session is None:
            return
        number = _numbers.get(name)
        if number is None:
            number = _numbers[name] = session.recorder.number_of(name)
        session.recorder.record(number, float(value))

    @classmethod
    def step(cls, loss: float | None = None, samples: float | None = None, epoch: int | None = None) -> None:
        """The end of a step. Once called, it alone says where steps end. About 2 us."""
        session = cls._session
        if session is None:
            return
        if session.steps is not None:
            session.steps.mark_explicit(loss, samples, epoch)
            return
        nan = float("nan")
        session.recorder.step(nan if loss is None else float(loss), nan if samples is None else float(samples), -1,
                              -1 if epoch is None else int(epoch))

    # ---- others that act while the job runs ----

    @classmethod
    def on_step(cls, callback) -> None:
        """callback(step) after each step, on a thread of its own; left out when 256 wait."""
        cls._need_session().callbacks.on_step(callback)

    @classmethod
    def on_finding(cls, callback) -> None:
        """callback(finding) for each finding of each window, on a thread of its own. Windows are then analysed while the
        job runs, by a process at low priority."""
        cls._need_session().callbacks.on_finding(callback)

    @classmethod
    def _need_session(cls):
        if cls._session is None:
            raise ProfilerError("the profiler is off; call AutoProfiler.enable() first")
        return cls._session


_numbers: dict[str, int] = {}
