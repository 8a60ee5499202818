"""Damaged captures: never a crash, never a hang, and never an event lost that stands before the damage.

A real capture is cut and has bytes changed at random places (the same ones every time). ACCEL_LONG_TESTS=1 runs 2,000
places of each kind on every capture; otherwise some dozens. ACCEL_BUILD names another build folder, say build-asan.
"""

import gzip
import json
import os
import random
import re
import select
import shutil
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from event_scan import Prefix, scan  # noqa: E402

PROJECT = Path(__file__).resolve().parent.parent.parent
GOLDEN = PROJECT / "tests/golden/pytorch-2.11_h200"
BUILD = PROJECT / os.environ.get("ACCEL_BUILD", "build")
LONG = os.environ.get("ACCEL_LONG_TESTS") == "1"
PLACES = 2000 if LONG else 60
LIMIT_S = 20
LOST_AFTER = 3  # events that one changed byte may cost behind it, its own included

# Small enough for many runs; together ops with shapes, annotations, collectives, copies, sets and flows.
CAPTURES = ["pageable_h2d.after", "fsdp2.rank0"] + (["launch_bound.before"] if LONG else [])


class Loader:
    """load_bench in batch mode; a crash or a hang names the file of the moment."""

    def __init__(self):
        program = BUILD / "benchmarks/load_bench"
        assert program.exists(), "make build first"
        self.process = subprocess.Popen([program, "batch", "--threads", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL if not os.environ.get("ACCEL_BUILD") else None)
        self.buffer = b""

    def load(self, path: Path, what: str) -> dict:
        self.process.stdin.write(f"{path}\n".encode())
        self.process.stdin.flush()
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], LIMIT_S)
            assert ready, f"{what}: still loading after {LIMIT_S} s"
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            assert piece, f"{what}: the loader ended with {self.process.wait()}"
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def close(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def loader():
    loader = Loader()
    yield loader
    loader.close()


class Capture:
    def __init__(self, name: str):
        self.packed = (GOLDEN / f"{name}.json.gz").read_bytes()
        self.text = gzip.decompress(self.packed)
        self.events = scan(self.text)
        self.prefix = Prefix(self.events)


@pytest.fixture(scope="module", params=CAPTURES)
def capture(request) -> Capture:
    return Capture(request.param)


def kept(found: dict) -> Counter:
    if found["status"] != "ok":
        return Counter()
    return Counter(found["slices"]) + Counter(found["device_events"])


def durations(found: dict) -> Counter:
    return Counter(found["slice_ns"]) + Counter(found["device_ns"])


def missing(expected: Counter, found: dict) -> Counter:
    return expected - kept(found)


def places(seed: int, size: int, count: int) -> list[int]:
    return sorted(random.Random(seed).sample(range(size), min(count, size)), reverse=True)


def test_the_whole_capture_holds_every_event(capture, loader, tmp_path):
    path = tmp_path / "whole.json"
    path.write_bytes(capture.text)
    found = loader.load(path, "the whole capture")
    end = len(capture.text)
    expected = capture.prefix.counts(end)
    assert {kind: kept(found)[kind] for kind in expected} == dict(expected)
    assert {kind: durations(found)[kind] for kind in expected} == dict(capture.prefix.dur_ns(end))
    assert found["events"] == len(capture.events)


def test_a_cut_capture_keeps_every_event_before_the_cut(capture, loader, tmp_path):
    path = tmp_path / "cut.json"
    path.write_bytes(capture.text)
    for place in places(1, len(capture.text), PLACES):
        os.truncate(path, place)
        what = f"cut at byte {place}"
        found = loader.load(path, what)
        expected = capture.prefix.counts(place)
        assert not missing(expected, found), f"{what}: lost {missing(expected, found)}; {found}"
        if found["status"] == "ok":
            half_read = kept(found) - expected
            half_read.pop("other", None)
            assert half_read.total() <= 1, f"{what}: events that are not there: {half_read}"
            if not half_read:
                sums = capture.prefix.dur_ns(place)
                assert {kind: durations(found)[kind] for kind in sums} == dict(sums), what
            if place < capture.events[-1].end:
                assert "truncated" in found["notes"] or "no_events" in found["notes"], f"{what}: no note; {found['notes']}"


def changed_byte(random_: random.Random, old: int) -> int:
    """Half of the changes are arbitrary bits, half hit where JSON is tender."""
    if random_.random() < 0.5:
        return old ^ random_.randrange(1, 256)
    return random_.choice([byte for byte in b'"\\{}[],:\x00\x1f\x80\xff\n0-.e' if byte != old])


def test_a_changed_byte_costs_no_event_before_it_and_few_behind(capture, loader, tmp_path):
    path = tmp_path / "changed.json"
    path.write_bytes(capture.text)
    random_ = random.Random(2)
    total = capture.prefix.counts(len(capture.text))
    first = capture.events[0].start
    with open(path, "r+b", buffering=0) as file:
        for place in places(3, len(capture.text), PLACES):
            old = capture.text[place]
            new = changed_byte(random_, old)
            what = f"byte {place} changed from {old:#x} to {new:#x}"
            os.pwrite(file.fileno(), bytes([new]), place)
            found = loader.load(path, what)
            os.pwrite(file.fileno(), bytes([old]), place)
            expected = capture.prefix.counts(place)
            assert not missing(expected, found), f"{what}: lost {missing(expected, found)}"
            if place > first:
                lost = missing(total, found)
                assert lost.total() <= LOST_AFTER, f"{what}: lost {lost} behind it"


def test_a_hole_costs_the_events_that_it_touches_and_few_more(capture, loader, tmp_path):
    path = tmp_path / "hole.json"
    path.write_bytes(capture.text)
    random_ = random.Random(8)
    total = capture.prefix.counts(len(capture.text))
    with open(path, "r+b", buffering=0) as file:
        for place in places(9, len(capture.text) - 6000, PLACES // 2):
            length = random_.randrange(2, 6000)
            what = f"{length} zero bytes from byte {place}"
            os.pwrite(file.fileno(), bytes(length), place)
            found = loader.load(path, what)
            os.pwrite(file.fileno(), capture.text[place : place + length], place)
            before = capture.prefix.counts(place)
            assert not missing(before, found), f"{what}: lost {missing(before, found)} before it"
            if place > capture.events[0].start:
                touched = Counter(e.kind for e in capture.events if e.kind and e.start < place + length and e.end > place)
                lost = missing(total - touched, found)
                assert lost.total() <= LOST_AFTER, f"{what}: lost {lost} more than it touches"


def test_one_damaged_rank_or_process_number_is_no_second_rank(loader, tmp_path):
    text = Capture("fsdp2.rank0").text
    one_rank = text.replace(b'"Rank": 0', b'"Rank": 5', 1)
    call, other = [m.start() for m in re.finditer(rb'"cat": "cuda_runtime"', text)][:2]
    pid = text.index(b'"pid": ', call) + 7
    correlation = text.index(b'"correlation": ', call) + 15
    same = text.index(b'"correlation": ', other) + 15
    one_process = text[:pid] + b"9" + text[pid + 1 : correlation] + text[same : same + 5] + text[correlation + 5 :]
    assert one_rank != text != one_process
    for damaged in (one_rank, one_process):
        path = tmp_path / "damaged.json"
        path.write_bytes(damaged)
        found = loader.load(path, "a damaged number")
        assert found["status"] == "ok", found


def certain_text(packed: bytes) -> int:
    """Bytes of text that so much of a gzip stream tells for certain."""
    return len(zlib.decompressobj(31).decompress(packed))


def test_a_cut_or_changed_gz_keeps_every_event_before_the_damage(capture, loader, tmp_path):
    path = tmp_path / "damaged.json.gz"
    random_ = random.Random(4)
    for place in places(5, len(capture.packed), PLACES if not LONG else 500):
        certain = certain_text(capture.packed[:place])
        expected = capture.prefix.counts(certain)
        path.write_bytes(capture.packed[:place])
        what = f"gz cut at byte {place}"
        found = loader.load(path, what)
        assert not missing(expected, found), f"{what}: lost {missing(expected, found)}; {found}"
        changed = bytearray(capture.packed)
        changed[place] ^= random_.randrange(1, 256)
        path.write_bytes(changed)
        what = f"gz byte {place} changed to {changed[place]:#x}"
        found = loader.load(path, what)
        assert not missing(expected, found), f"{what}: lost {missing(expected, found)}; {found}"


def analyze(command: Path, path: Path, out: Path, what: str) -> None:
    shutil.rmtree(out, ignore_errors=True)
    try:
        done = subprocess.run([command, "analyze", path, "-o", out], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        pytest.fail(f"{what}: still running after {LIMIT_S} s")
    assert done.returncode in (0, 3), f"{what}: status {done.returncode}; {done.stderr[-2000:]!r}"
    if done.returncode == 0:
        json.loads((out / "report.json").read_bytes())
    else:
        assert done.stderr.strip(), f"{what}: status 3 without a word"


def test_analyze_of_a_damaged_capture_ends_with_a_report_or_a_reason(tmp_path):
    command = BUILD / "accel-profiler"
    text = gzip.decompress((GOLDEN / "pageable_h2d.after.json.gz").read_bytes())
    path = tmp_path / "damaged.json"
    random_ = random.Random(6)
    for place in places(7, len(text), 2000 if LONG else 25):
        path.write_bytes(text[:place])
        analyze(command, path, tmp_path / "out", f"cut at byte {place}")
        changed = bytearray(text)
        changed[place] = changed_byte(random_, text[place])
        path.write_bytes(changed)
        analyze(command, path, tmp_path / "out", f"byte {place} changed to {changed[place]:#x}")
