"""`accel-profiler trigger`: finds the ranks below a launcher, has them keep the same steps, and prints their files."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
COMMAND = PROJECT / "build/accel-profiler"
EXAMPLE = PROJECT / "build/examples/example_cpp_slow_loader"
LAUNCHER = """
import subprocess, sys
ranks = [subprocess.Popen(sys.argv[2:] + ["--output", f"{sys.argv[1]}/rank{k}"], stdout=subprocess.DEVNULL) for k in range(2)]
print("started", flush=True)
for rank in ranks:
    rank.wait()
"""


@pytest.fixture
def job(tmp_path):
    if not COMMAND.exists() or not EXAMPLE.exists():
        pytest.skip("the command or the example is not built")
    environment = {**os.environ, "ACCEL_PROFILER_RUNTIME_DIR": str(tmp_path / "run")}
    started = subprocess.Popen([sys.executable, "-c", LAUNCHER, tmp_path, EXAMPLE, "--load-ms", "10", "--work-ms", "5",
                                "--seconds", "600", "--rule", ""], env=environment, stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
    assert started.stdout.readline() == "started\n"
    wait_until(lambda: len(list((tmp_path / "run").glob("*.sock"))) == 2)
    yield started
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()


def wait_until(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def trigger(*words):
    return subprocess.run([COMMAND, "trigger", *map(str, words)], capture_output=True, text=True, timeout=120)


def test_all_ranks_below_a_launcher_are_asked_for_one_step_and_their_files_are_printed(job):
    done = trigger(job.pid, "--steps", 4, "--level", 1, "--wait", 60)
    assert done.returncode == 0, done.stderr
    starts = re.findall(r"capture steps=4 level=1 at=(\d+)", done.stdout)
    assert len(starts) == 2 and len(set(starts)) == 1, done.stdout
    files = re.findall(r"process \d+: (?:ended; )?(\S+\.accel)", done.stdout)  # the example ends with its capture
    assert len(files) == 2, done.stdout
    assert all(Path(file).read_bytes().startswith(b"ACCELTR\n") for file in files)


def test_one_process_alone_is_asked_and_the_signal_goes_to_those_that_catch_it(job):
    ranks = [int(path.stem) for path in ranks_of(job.pid)]
    done = trigger(ranks[0], "--alone")
    assert done.returncode == 0 and done.stdout == f"process {ranks[0]}: capture steps=5 level=2\n", done.stdout + done.stderr
    signalled = trigger(job.pid, "--signal")  # the launcher has no recorder: it would end
    assert sorted(map(int, re.findall(r"process (\d+): signalled", signalled.stdout))) == sorted(ranks), signalled.stdout
    assert job.poll() is None
    assert trigger(job.pid, "--stop").returncode == 0


def ranks_of(launcher):
    folder = dict(line.split("=", 1) for line in Path(f"/proc/{launcher}/environ").read_text().split("\0") if "=" in line)
    return list(Path(folder["ACCEL_PROFILER_RUNTIME_DIR"]).glob("*.sock"))


def test_a_process_that_would_end_by_the_signal_gets_none():
    if not COMMAND.exists():
        pytest.skip("the command is not built")
    with subprocess.Popen(["sleep", "60"]) as harmless:
        done = trigger(harmless.pid, "--signal")
        assert done.returncode == 3 and "none was signalled" in done.stderr
        assert harmless.poll() is None
        harmless.kill()
