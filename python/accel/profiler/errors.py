"""What can go wrong, each with its remedy."""


class ProfilerError(RuntimeError):
    """Something of the profiler cannot work; the text ends with what to do. Never raised in the middle of training."""


def recorder():
    """The extension module. Raises ProfilerError when it cannot be loaded."""
    try:
        from accel.profiler import _runtime
    except ImportError as error:
        raise ProfilerError(
            f"the recorder of accel-profiler cannot be loaded ({error}); install the package for this Python: "
            "pip install accel-profiler"
        ) from error
    return _runtime
