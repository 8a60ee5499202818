"""Python stacks in windows, sampled by a native thread that reads them from outside: where the training thread and the loader's
workers stand, 20 to 500 times a second, for at most one per cent of a core. The interpreter's layout is known by version; that
it fits this interpreter is proven here, by reading stacks that are known."""

import platform
import sys
import threading

INNERMOST = 12


def install(session):
    recorder = session.recorder
    if recorder.use_python(True) != 0 or not _reads_right(recorder):
        recorder.use_python(False)
        session.note(f"Python stacks are not sampled: the layout of Python {platform.python_version()} here is not the one that is known, "
                     "or the system does not let a process read its own memory as a debugger would")
        return lambda: None
    return lambda: recorder.use_python(False)


def _reads_right(recorder) -> bool:
    tid = threading.get_native_id()

    def inside(depth):
        if depth > 0:
            return inside(depth - 1)
        return recorder.python_stack(tid), _stack(sys._getframe())  # both on one line, which is in both

    def in_generator():
        yield inside(2)

    seen = [inside(0), next(in_generator()), *(inside(depth) for depth in (1, 5))]
    return all(len(known) > 1 and text.splitlines()[:INNERMOST] == known for text, known in seen)


def _stack(frame) -> list[str]:
    """What the interpreter itself says, as the recorder writes it; the innermost frames."""
    lines = []
    while frame is not None and len(lines) < INNERMOST:
        code = frame.f_code
        lines.append(f"  {code.co_filename[:511]}({frame.f_lineno or 0}): {code.co_qualname[:250]}")
        frame = frame.f_back
    return lines
