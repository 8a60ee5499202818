"""A machine without enough memory gets a sentence and status 3, whatever thread ran out of it, and no half report."""

import json
import resource
import subprocess

import pytest

EVENT = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "dur": 5}


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    path = tmp_path_factory.mktemp("memory") / "capture.json"
    events = ",".join(json.dumps(EVENT | {"ts": 10 * i}) for i in range(400_000))
    path.write_text(f'{{"traceEvents": [{events}]}}')
    return path


def run(command, capture, out, megabytes):
    limit = megabytes << 20
    return subprocess.run(
        [command, "analyze", capture, "-o", out, "--threads", "4", "--quiet"], capture_output=True, text=True, timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))


def test_with_enough_it_works(command, capture, tmp_path):
    assert run(command, capture, tmp_path / "out", 8000).returncode == 0


@pytest.mark.parametrize("megabytes", [30, 60, 90, 130, 180])
def test_without_it_says_so(command, capture, tmp_path, megabytes):
    done = run(command, capture, tmp_path / "out", megabytes)
    if done.returncode == 0:
        pytest.skip("that was enough")
    assert done.returncode == 3, done.stderr
    assert "out of memory" in done.stderr and "--steps" in done.stderr
    assert not (tmp_path / "out").exists()
