"""Reports are the same to the byte from run to run and for any number of threads, and appear whole or not at all."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(PROJECT / "benchmarks/ingest"))
import make_capture  # noqa: E402

GOLDEN = PROJECT / "tests/golden/pytorch-2.11_h200"
LONG = os.environ.get("ACCEL_LONG_TESTS") == "1"
LIMIT_S = 60


def analyze(command: Path, path: Path, out: Path, *options: str) -> dict[str, bytes]:
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([command, "analyze", path, "-o", out, *options], check=True, stdin=subprocess.DEVNULL, capture_output=True,
                   timeout=LIMIT_S)
    return outputs(out)


def outputs(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())} if out.is_dir() else {}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A capture of 40 MB, more than the pieces that threads take."""
    path = tmp_path_factory.mktemp("made") / "made.json"
    make_capture.make(path, size=40_000_000)
    return path


@pytest.mark.parametrize("name", ["launch_bound.before", "healthy_lm.after", "fsdp2.rank0"])
def test_reports_are_the_same_for_any_number_of_threads(command, tmp_path, name):
    check_same(command, GOLDEN / f"{name}.json.gz", tmp_path)


def test_reports_of_a_large_capture_are_the_same_for_any_number_of_threads(command, made, tmp_path):
    check_same(command, made, tmp_path)


def check_same(command: Path, path: Path, tmp_path: Path) -> None:
    first = analyze(command, path, tmp_path / "first", "--threads", "1")
    assert "report.json" in first
    for threads in ("1", "2", "2", "8", "8"):
        again = analyze(command, path, tmp_path / "again", "--threads", threads)
        assert again.keys() == first.keys()
        different = [file for file in first if again[file] != first[file]]
        assert not different, f"{different} with {threads} threads"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_killed_analyze_leaves_whole_reports_or_none(command, made, tmp_path, number):
    out = tmp_path / "out"
    started = time.perf_counter()
    whole = analyze(command, made, tmp_path / "whole")
    duration = time.perf_counter() - started
    random_ = random.Random(int(number))
    ended_by_signal = 0
    for _ in range(60 if LONG else 8):
        shutil.rmtree(out, ignore_errors=True)
        moment = random_.uniform(0, 1.1 * duration)
        process = subprocess.Popen([command, "analyze", made, "-o", out], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        time.sleep(moment)
        process.send_signal(number)
        process.communicate(timeout=LIMIT_S)
        what = f"{number.name} after {moment:.3f} s of {duration:.3f}, status {process.returncode}"
        ended_by_signal += process.returncode != 0
        left = outputs(out)
        for file, data in whole.items():
            assert left.get(file, data) == data, f"{what}: {file} is not whole"
        if process.returncode == 0:
            assert left.keys() == whole.keys(), what
        elif number != signal.SIGKILL:
            assert process.returncode in (-number, 128 + number), what
            assert left.keys() <= whole.keys(), f"{what}: left behind {sorted(left.keys() - whole.keys())}"
    assert ended_by_signal, "no signal came in time"


def refuses_large_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def test_a_report_that_does_not_fit_is_not_left_in_pieces(command, tmp_path):
    out = tmp_path / "out"
    # Python ignores SIGXFSZ; the child must inherit that, so that the write fails as on a full disk.
    done = subprocess.run([command, "analyze", GOLDEN / "pageable_h2d.after.json.gz", "-o", out], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT_S, preexec_fn=refuses_large_files, restore_signals=False)
    check_refused(done, out)


def test_a_report_that_meets_the_file_size_limit_unprepared_is_not_left_in_pieces(command, tmp_path):
    out = tmp_path / "out"
    done = subprocess.run([command, "analyze", GOLDEN / "pageable_h2d.after.json.gz", "-o", out], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT_S, preexec_fn=refuses_large_files)
    assert done.returncode != 0
    for file, data in outputs(out).items():
        assert len(data) < 2000 and file != "report.json", f"{file}: {len(data)} bytes"


def test_a_full_disk_is_said_and_leaves_no_report(command, tmp_path):
    mount = tmp_path / "small"
    mount.mkdir()
    inside = 'mount -t tmpfs -o size=16k tmpfs "$1" || exit 77; "$2" analyze "$3" -o "$1/out"; status=$?; ls "$1/out" 2>/dev/null; exit $status'
    argv = ["unshare", "-rm", "sh", "-c", inside, "sh", mount, command, GOLDEN / "launch_bound.before.json.gz"]
    try:
        done = subprocess.run([str(word) for word in argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S)
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this machine lets nobody mount a small file system")
    assert done.returncode not in (0, -signal.SIGSEGV), done.stdout
    assert "space" in done.stderr.lower(), done.stderr
    assert "report.json" not in done.stdout.split("\n")


def check_refused(done: subprocess.CompletedProcess, out: Path) -> None:
    assert done.returncode > 0, done
    assert "report." in done.stderr or "too large" in done.stderr.lower(), done.stderr
    for file, data in outputs(out).items():
        assert len(data) < 2000 and file != "report.json", f"{file}: {len(data)} bytes, half a report"


def test_reports_hold_no_time_of_day_and_no_folder(command, tmp_path):
    """Two folders, two moments, one report."""
    path = GOLDEN / "pageable_h2d.after.json.gz"
    first = analyze(command, path, tmp_path / "a")
    time.sleep(1.1)
    assert analyze(command, path, tmp_path / "deeper" / "b") == first
    json.loads(first["report.json"])
