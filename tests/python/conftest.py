"""Paths that every Python test may use."""

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
