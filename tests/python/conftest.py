"""Paths that every Python test may use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="session")
def project() -> Path:
    return PROJECT


@pytest.fixture(scope="session")
def command() -> Path:
    """The built command."""
    path = PROJECT / "build/accel-profiler"
    assert path.exists(), "make build first"
    return path


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared captures beside the checkout; tests that need it are skipped without it."""
    path = PROJECT.parent / "shared"
    if not (path / "traces").is_dir():
        pytest.skip("../shared is not here")
    return path


def python_with_package(name: str, *options: str) -> Path:
    """The interpreter of an environment below build/ that holds the Python package of this tree."""
    folder = PROJECT / "build" / name
    if not (PROJECT / "build/libaccel_profiler_runtime.so").exists():
        pytest.skip("the runtime library is not built")
    done = subprocess.run([sys.executable, PROJECT / "tools/python_env.py", folder, *options], capture_output=True, text=True)
    if done.returncode == 3:
        pytest.skip("the CPU build of torch cannot be had")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "bin/python"


@pytest.fixture(scope="session")
def bare_python() -> Path:
    """An interpreter with accel.profiler and without torch. $ACCEL_BARE_PYTHON: another than that of the tests."""
    if os.environ.get("ACCEL_BARE_PYTHON"):
        return Path(os.environ["ACCEL_BARE_PYTHON"])
    return python_with_package("python-bare")


@pytest.fixture(scope="session")
def torch_python() -> Path:
    """An interpreter with accel.profiler and torch for CPUs; skipped where torch cannot be had. $ACCEL_TORCH_PYTHON: one that
    has both."""
    if os.environ.get("ACCEL_TORCH_PYTHON"):
        return Path(os.environ["ACCEL_TORCH_PYTHON"])
    return python_with_package("python-torch", "--torch", "--frameworks")
