"""
The recorder of this process. Statuses are those of accel/profiler/runtime_c.h: 0 is done.
"""

import types
from typing import Any


class ModuleCall:
    """
    ModuleCall(function): records a scope for each module called while a window is open.
    """

    def __call__(self, /, *args, **kwargs):
        """Call self as a function."""

    def __getattribute__(self, name, /):
        """Return getattr(self, name)."""

    def __get__(self, instance, owner=None, /):
        """Return an attribute of instance, which is of type owner."""

    __reduce__: types.MethodDescriptorType = ...

    __vectorcalloffset__: types.MemberDescriptorType = ...

    original: types.MemberDescriptorType = ...

    __original_fn: types.MemberDescriptorType = ...

    __script_if_tracing_wrapper: bool = True

class TimedCall:
    """
    TimedCall(function, category, name, before=None): records a scope for each call while a window is open; before(*args) runs first, its errors are dropped.
    """

    def __call__(self, /, *args, **kwargs):
        """Call self as a function."""

    def __getattribute__(self, name, /):
        """Return getattr(self, name)."""

    def __get__(self, instance, owner=None, /):
        """Return an attribute of instance, which is of type owner."""

    __reduce__: types.MethodDescriptorType = ...

    __vectorcalloffset__: types.MemberDescriptorType = ...

    original: types.MemberDescriptorType = ...

    __original_fn: types.MemberDescriptorType = ...

    __script_if_tracing_wrapper: bool = True

def set_resolver(*args, **kwargs) -> Any:
    """
    set_resolver(callable | None): called with a module that is called in a window and has no name.
    """

def set_describe(*args, **kwargs) -> Any:
    """
    set_describe(callable | None): called with (module, first argument) for each range of another recorder; gives its text or None.
    """

def set_on_due(*args, **kwargs) -> Any:
    """
    set_on_due(callable | None): called when a step is due and a module is called.
    """

def set_due(*args, **kwargs) -> Any:
    """set_due(bool): a step is due."""

def set_annotations(*args, **kwargs) -> Any:
    """
    set_annotations(enter | None, exit | None): ranges for another recorder, around the same calls.
    """

def name_module(*args, **kwargs) -> Any:
    """
    name_module(module, category, text): the name of a module's calls; gives its number.
    """

def forget_module(*args, **kwargs) -> Any:
    """forget_module(address): the module is gone."""

class Scope:
    """
    Scope(name, category='annotation'): a range in the recording while it is entered.
    """

    __enter__: types.MethodDescriptorType = ...

    __exit__: types.MethodDescriptorType = ...

NO_SIGNAL: int = 1

NO_SOCKET: int = 2

def enable(output: str, rank: int = -1, world_size: int = -1, flags: int = 0, max_seconds: int = 0) -> int:
    """Goes to IDLE. About 100 us."""

def disable() -> int: ...

def state() -> int:
    """0 OFF, 1 IDLE, 2 WATCHING, 3 ARMED, 4 ACTIVE, 5 DRAINING"""

def is_active() -> bool: ...

def wait(timeout_ms: int) -> int:
    """Waits until no window is armed, open or being written."""

def step(loss: float, samples: float, loader_wait_ns: int, epoch: int) -> int:
    """The end of a step."""

def name_of(category: str, name: str) -> int: ...

def number_of(name: str) -> int: ...

def record(number: int, value: float) -> int: ...

def mark(text: str) -> int: ...

def use_python(on: bool) -> int:
    """
    Windows sample Python stacks from now on; 0: the layout of this version is known.
    """

def python_stack(tid: int) -> str:
    """
    The stack of a thread, read from outside, innermost frame first, lines of '  file(line): function'. About 20 us.
    """

def python_worker(pid: int) -> int:
    """A loader's worker process: looked at too while a window is open."""

def rule_add(text: str) -> tuple[int, int, str, str]:
    """(status, column, message, remedy)"""

def rules_clear() -> int: ...

def capture(wait: int, warmup: int, active: int, repeat: int, level: int, steady_wait: int, start_step: int = 0) -> int:
    """Arms a window."""

def capture_stop() -> int: ...

def window_now() -> tuple[int, int]:
    """
    (phase, level) of the step that runs now: phase 0 no window, 2 warm-up, 3 kept.
    """

def capture_path() -> str | None:
    """The newest capture file."""

def close_waits(closed: bool) -> None:
    """
    True: wait_for_action and wait_for_agreement return at once from now on.
    """

def listen_for_agreements(on: bool) -> int:
    """Rules with @global ask wait_for_agreement() from now on."""

def wait_for_agreement(seconds: float) -> tuple[int, int, str, int] | None:
    """
    (proposed step, steps, rule, time limit in ms) that a rule asked for, or None.
    """

def answer_agreement(step: int) -> None:
    """The first step that all ranks keep; 0: they do not agree."""

def notify(target: str, message: str) -> int: ...

def wait_for_action(seconds: float) -> tuple[int, str, bool] | None:
    """(kind, text, global) that a rule asked for, or None."""
