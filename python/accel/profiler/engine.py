"""The command, as the package carries it."""

import os
import shutil
import subprocess
from pathlib import Path

from accel.profiler.errors import ProfilerError


def engine_path() -> str:
    """Path of the C++ command. $ACCEL_PROFILER_ENGINE comes first, then the package's own, then PATH."""
    named = os.environ.get("ACCEL_PROFILER_ENGINE")
    if named:
        return named
    own = Path(__file__).parent / "_engine/bin/accel-profiler"
    if own.exists():
        return str(own)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        found = shutil.which("accel-profiler", path=folder)
        if found and Path(found).read_bytes()[:4] == b"\x7fELF":
            return found
    raise ProfilerError("the engine of accel-profiler is not installed; install the package again: pip install accel-profiler")


def run_engine(*words, background: bool = False, **options) -> subprocess.CompletedProcess:
    nice = ["nice", "-n", "19"] if background else []
    return subprocess.run([*nice, engine_path(), *(str(word) for word in words)], **options)
