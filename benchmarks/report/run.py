#!/usr/bin/env python3
"""Size of report.html, what writing it costs, and how fast it answers, for captures of 216 thousand to 2 million events.

The answer comes first: the page must hold as many records as the capture has host slices and device events, less those
that it says it left out. Bounds: 25 MB and 2 s until the page answers, for the largest.

    benchmarks/report/run.py                captures are kept in build/bench
    benchmarks/report/run.py --quick        the smallest alone
    benchmarks/report/run.py --check        status 1 when a bound is missed, not only when the answer is wrong
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
BENCH = PROJECT / "build/bench"
COMMAND = PROJECT / "build/accel-profiler"
CAPTURES = {
    "216k": ["--events", "216000"],
    "1.8M": ["--events", "1800000"],
    "2M, 300k names": ["--events", "2000000", "--distinct-strings", "300000"],
}
MOST_MB = 25
MOST_READY_S = 2


def capture(name: str) -> tuple[Path, int]:
    """The file and how many host slices and device events it holds."""
    path = BENCH / f"report-{name.split(',')[0]}.json"
    expected = path.with_name(path.name + ".expected.json")
    if not expected.exists():
        BENCH.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, PROJECT / "benchmarks/ingest/make_capture.py", path, *CAPTURES[name]], check=True, stdout=subprocess.DEVNULL)
    counts = json.loads(expected.read_text())["events_by_category"]
    kinds = ("cpu_op", "cuda_runtime", "cuda_driver", "user_annotation", "kernel", "gpu_memcpy", "gpu_memset")
    return path, sum(counts.get(f"{kind}/X", 0) for kind in kinds)


def seconds(*argv) -> float:
    start = time.perf_counter()
    subprocess.run([str(word) for word in argv], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def packages() -> Path:
    folder = PROJECT / "build/browser"
    if not (folder / "installed").exists():
        subprocess.run(["cmake", f"-DFROM={PROJECT}/tests/browser", f"-DTO={folder}", "-DNPM=npm", "-P", PROJECT / "cmake/web_packages.cmake"], check=True)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    names = list(CAPTURES)[: 1 if arguments.quick else None]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; medians of {arguments.repetitions} (lowest to highest)\n")
    print("| capture | report.html | analyze without it | with it | page answers | timeline opens | frame, median and longest |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    wrong, missed = [], []
    for name in names:
        path, records = capture(name)
        out = BENCH / "report-out"
        without, whole = [], []
        for _ in range(arguments.repetitions):
            without.append(seconds(COMMAND, "analyze", path, "-o", out, "--quiet", "--format", "json,md"))
            whole.append(seconds(COMMAND, "analyze", path, "-o", out, "--quiet"))
        page = out / "report.html"
        done = subprocess.run(["node", PROJECT / "benchmarks/report/interactive.mjs", packages(), page, str(arguments.repetitions)],
                              check=True, capture_output=True, text=True)
        times = json.loads(done.stdout)
        if times["records"] + times["left_out"] != records:
            wrong.append(f"{name}: the page holds {times['records']} records and left out {times['left_out']}; the capture has {records}")
        megabytes = page.stat().st_size / 1e6
        ready = statistics.median(times["ready_ms"]) / 1e3
        if megabytes > MOST_MB or ready > MOST_READY_S:
            missed.append(f"{name}: {megabytes:.1f} MB, {ready:.2f} s")

        def spread(values, scale=1.0):
            return f"{statistics.median(values) * scale:.2f} s ({min(values) * scale:.2f} to {max(values) * scale:.2f})"

        print(f"| {name} | {megabytes:.1f} MB | {spread(without)} | {spread(whole)} | {spread(times['ready_ms'], 1e-3)} | "
              f"{spread(times['timeline_ms'], 1e-3)} | {statistics.median(times['frame_ms']):.0f}, {max(times['frame_ms']):.0f} ms |", flush=True)
    for text in wrong:
        print(f"WRONG: {text}")
    for text in missed:
        print(f"MISSED: {text} (at most {MOST_MB} MB and {MOST_READY_S} s)")
    return 1 if wrong or (arguments.check and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
