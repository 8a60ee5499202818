"""The captures that the benchmarks make hold what their expected.json says, by an independent count."""

import gzip
import json
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(PROJECT / "benchmarks/ingest"))
import make_capture  # noqa: E402
from run import Bench, Capture, prove  # noqa: E402

GOLDEN = PROJECT / "tests/golden/pytorch-2.11_h200"
DEVICE = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}
HOST = {"cpu_op": "op", "user_annotation": "annotation", "cuda_runtime": "runtime_call", "cuda_driver": "driver_call"}


def ns(value) -> int:
    return int(Decimal(value) * 1000)


def count(path: Path) -> dict:
    """What json.loads finds in the file."""
    document = json.loads(path.read_text(), parse_float=Decimal)
    events = document["traceEvents"]
    base = document["baseTimeNanoseconds"]
    device = [e for e in events if e.get("cat") in DEVICE]
    host = [e for e in events if e.get("cat") in HOST]
    calls = [e["args"]["correlation"] for e in host if e["cat"].startswith("cuda_")]
    assert len(calls) == len(set(calls)), "every call has a correlation of its own"
    correlations = set(calls)
    flows = Counter((e["cat"], e["id"]) for e in events if e["ph"] == "s")
    assert max(flows.values()) == 1, "every flow starts once"
    return {
        "events": len(events),
        "events_by_category": dict(sorted(Counter(f"{e.get('cat', '')}/{e['ph']}" for e in events).items())),
        "slices": dict(sorted(Counter(HOST[e["cat"]] for e in host).items())),
        "slice_starts_sum": sum(base + ns(e["ts"]) for e in host) % 2**64,
        "device_events": dict(sorted(Counter(DEVICE[e["cat"]] for e in device).items())),
        "device_starts_sum": sum(base + ns(e["ts"]) for e in device) % 2**64,
        "kernels": sum(e["cat"] == "kernel" for e in device),
        "kernel_ns": sum(ns(e["dur"]) for e in device if e["cat"] == "kernel"),
        "links": sum(e["args"]["correlation"] in correlations for e in device),
        "steps": sum(e["cat"] == "user_annotation" and e["name"].startswith("ProfilerStep#") for e in host),
        "distinct_names": len({e["name"] for e in host + device}),
    }


@pytest.mark.parametrize("options", [{}, {"shapes": True}, {"distinct_strings": 1000}], ids=["plain", "shapes", "distinct"])
def test_a_made_capture_holds_what_is_expected(tmp_path, options):
    path = tmp_path / "made.json"
    expected = make_capture.make(path, capture=GOLDEN / "pageable_h2d.after.json.gz", size=2_000_000, compress=True, **options)
    assert expected == json.loads(Path(f"{path}.expected.json").read_text())
    assert 1_500_000 < path.stat().st_size == expected["bytes"] < 2_500_000
    assert gzip.open(f"{path}.gz").read() == path.read_bytes()
    found = count(path)
    assert found == {key: expected[key] for key in found}
    if "distinct_strings" in options:
        assert expected["distinct_strings_made"] >= options["distinct_strings"]


@pytest.mark.parametrize("options", [{}, {"shapes": True}, {"distinct_strings": 1000}], ids=["plain", "shapes", "distinct"])
def test_the_loader_finds_what_is_expected(tmp_path, options):
    driver = PROJECT / "build/benchmarks/load_bench"
    assert driver.exists(), "make build first"
    path = tmp_path / "made.json"
    expected = make_capture.make(path, capture=GOLDEN / "fsdp2.rank0.json.gz", size=8_000_000, compress=True, **options)
    bench = Bench(driver, None, tmp_path, 2)
    for threads in (1, 2, 8):
        prove(bench, Capture("made", path, expected), path, threads)
    prove(bench, Capture("made", path, expected), Path(f"{path}.gz"), 2)


def test_one_repetition_with_shapes_is_the_real_capture(tmp_path):
    real = GOLDEN / "launch_bound.before.json.gz"
    path = tmp_path / "made.json"
    make_capture.make(path, capture=real, events=1, shapes=True)
    assert path.read_bytes() == gzip.open(real).read()


def test_steps_and_times_go_up_from_window_to_window(tmp_path):
    path = tmp_path / "made.json"
    make_capture.make(path, capture=GOLDEN / "pageable_h2d.after.json.gz", events=4000)
    steps = [e for e in json.loads(path.read_text())["traceEvents"] if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"]
    numbers = [int(e["name"].split("#")[1]) for e in sorted(steps, key=lambda e: e["ts"])]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
