#!/usr/bin/env python3
"""Who holds the job up? The answer of accel-profiler beside those of HolisticTraceAnalysis and of plain time stamps, on
captures of several ranks as they are and with every rank's clock moved.

    benchmarks/compare/stragglers.py [--seeds N] [--shared ../shared] [--binary build/accel-profiler] [--check]

Clocks are moved by up to 10 s and 100 ppm, each rank by its own amount, drawn from the seed. Plain time stamps: the rank
whose communication kernels start last most often, the n-th kernel of one file against the n-th of another.
HolisticTraceAnalysis 0.5 knows the kernels of NCCL before 2.20 alone ("ncclKernel..."): it is given files in which newer
ones are called so. It has no answer "nobody". With --check the exit status is 1 when an answer of accel-profiler is wrong.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import holistic  # noqa: E402

PROJECT = HERE.parent.parent
# The late rank, or None where nobody is: stated by those who made the captures.
CAPTURES = {
    "nccl2 host_straggler": ("h200/nccl2", "host_straggler.rank{}.json.gz", 2, 1),
    "nccl2 device_imbalance": ("h200/nccl2", "device_imbalance.rank{}.json.gz", 2, 1),
    "nccl2 even": ("h200/nccl2", "even.rank{}.json.gz", 2, None),
    "nccl2 unoverlapped": ("h200/nccl2", "unoverlapped.rank{}.json.gz", 2, None),
    "nccl2 fsdp2": ("h200/nccl2", "fsdp2.rank{}.json.gz", 2, None),
    "ddp_straggler (gloo)": ("h200/ddp", "ddp_straggler.rank{}.json.gz", 4, 2),
    "ddp_even (gloo)": ("h200/ddp", "ddp_even.rank{}.json.gz", 4, None),
    "dlrm_8rank": ("public/facebookresearch__param/dlrm_8rank", "worker{}_*.pt.trace.json.gz", 8, 7),
}
LATE_RULES = ("straggler_rank", "collective_imbalance")


def load(path: Path) -> dict:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def moved(trace: dict, offset_us: float, drift: float) -> dict:
    """The trace as a clock would have recorded it that is off by offset_us and runs fast by drift."""
    times = [float(event["ts"]) for event in trace["traceEvents"] if "ts" in event]
    origin = min(times) if times else 0.0
    for event in trace["traceEvents"]:
        if "ts" in event:
            at = float(event["ts"])
            event["ts"] = round(at + offset_us + drift * (at - origin), 3)
        if "dur" in event:
            event["dur"] = round(float(event["dur"]) * (1 + drift), 3)
    return trace


def plain_answer(traces: list[dict]) -> str:
    """Which rank's communication starts last, by the time stamps as they stand."""
    starts = []
    for trace in traces:
        base = trace.get("baseTimeNanoseconds", 0) / 1000
        kernels = [base + float(event["ts"]) for event in trace["traceEvents"]
                   if event.get("cat", "").lower() == "kernel" and "nccl" in event.get("name", "").lower()]
        if not kernels:
            kernels = [base + float(event["ts"]) for event in trace["traceEvents"]
                       if event.get("name", "").startswith("gloo:") and "ts" in event]
        starts.append(sorted(kernels))
    count = min(map(len, starts))
    if count == 0:
        return "nothing to compare"
    last = collections.Counter(max(range(len(starts)), key=lambda rank: starts[rank][i]) for i in range(count))
    rank, times = last.most_common(1)[0]
    return f"rank {rank} ({times} of {count})"


def holistic_answer(python: Path, files: list[Path]) -> str:
    done = subprocess.run([python, HERE / "holistic_stragglers.py", *files], capture_output=True, text=True, timeout=600)
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        return "failed"
    answer = json.loads(lines[-1])
    return f"rank {answer['ranks'][0]}" if answer.get("ranks") else f"failed ({answer.get('failed', 'none')[:30]})"


def own_answer(binary: Path, folder: Path) -> tuple[str, int | None]:
    """The late rank of the costliest finding, and what is said of the clocks."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([binary, "analyze", folder, "--quiet", "--format", "json", "-o", out], capture_output=True,
                              text=True)
        report = Path(out) / "report.json"
        if done.returncode != 0 or not report.exists():
            return f"no report (status {done.returncode})", None
        document = json.loads(report.read_text(encoding="utf-8"))
    late = [finding for finding in document["findings"] if finding["rule"] in LATE_RULES]
    residuals = [clock["residual_us"] for clock in document["clock"] if clock.get("residual_us") is not None]
    clocks = f", clocks within {max(residuals):.0f} us" if residuals else ""
    if not late:
        return "nobody" + clocks, None
    ranks = [place["rank"] for place in late[0]["where"] if place.get("rank") is not None]
    rank = ranks[0] if ranks else None
    return f"rank {rank}, {late[0]['cost_ms_per_step']:.1f} ms a step{clocks}", rank


def write(folder: Path, traces: list[dict], old_names: bool = False) -> list[Path]:
    files = []
    for rank, trace in enumerate(traces):
        text = json.dumps(trace)
        files.append(folder / f"rank{rank}.json")
        files[-1].write_text(text.replace('"ncclDevKernel_', '"ncclKernel_') if old_names else text, encoding="utf-8")
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1, help="sets of moved clocks for each capture [1]")
    parser.add_argument("--shared", type=Path, default=PROJECT.parent / "shared")
    parser.add_argument("--binary", type=Path, default=PROJECT / "build/accel-profiler")
    parser.add_argument("--only", default="", help="captures whose name contains this")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    traces = options.shared / "traces"
    if not traces.exists():
        print(f"skipped: {traces} is not here")
        return 0
    environment = PROJECT / "build/hta-venv"
    reason = holistic.environment(environment)
    wrong = 0
    print(f"{'capture':24} {'clocks':12} {'truth':8} {'accel-profiler':44} {'HolisticTraceAnalysis':40} time stamps")
    for name, (folder, pattern, ranks, truth) in CAPTURES.items():
        if options.only not in name:
            continue
        for seed in range(options.seeds + 1):
            paths = [next((traces / folder).glob(pattern.format(rank))) for rank in range(ranks)]
            loaded = [load(path) for path in paths]
            draw = random.Random(f"{name} {seed}")
            if seed > 0:
                loaded = [moved(trace, draw.uniform(-10e6, 10e6), draw.uniform(-100e-6, 100e-6)) for trace in loaded]
            with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as renamed:
                write(Path(made), loaded)
                own, rank = own_answer(options.binary, Path(made))
                files = write(Path(renamed), loaded, old_names=True)
                theirs = f"not installed: {reason}" if reason else holistic_answer(environment / "bin/python", files)
            right = rank == truth and not own.startswith("no report")
            wrong += not right
            print(f"{name:24} {'as recorded' if seed == 0 else f'moved {seed}':12} "
                  f"{'nobody' if truth is None else f'rank {truth}':8} {own + ('' if right else '  WRONG'):44} {theirs:40} "
                  f"{plain_answer(loaded)}", flush=True)
    print(f"accel-profiler: {wrong} wrong")
    return 1 if options.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
