#!/usr/bin/env python3
"""make demo: trains a small network on this machine with a slow image pipeline, is woken by a rule, says what is wrong, applies the
fix and holds the gain against the one foretold. Where torch for processors cannot be had, a recorded job is diagnosed instead.

    demo.py [--recorded] [--steps N]"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
RECORDED = PROJECT / "tests/golden/pytorch-2.11_h200/launch_bound.before.json.gz"
TRAIN = PROJECT / "examples/demo/train.py"
OUT = PROJECT / "build/demo"
RULE = "step >= 20 and p50(dataloader_wait_ratio, 10) > 0.2"
WINDOW = 40  # steps: long enough for samples of the stacks to tell the line
LEFT_OUT = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    python = None if options.recorded else python_with_torch()
    if python is None:
        return recorded()
    try:
        live(python, options.steps)
        return 0
    except Stopped as reason:
        print(f"the live demo ended early: {reason}")
        return recorded()


class Stopped(Exception):
    """Why the live demo cannot go on."""


def recorded() -> int:
    print(f"diagnosing {RECORDED.relative_to(PROJECT)}", flush=True)
    return subprocess.run([PROJECT / "build/accel-profiler", "analyze", RECORDED.relative_to(PROJECT), "-o", "build/demo"], cwd=PROJECT).returncode


def python_with_torch() -> Path | None:
    if named := os.environ.get("ACCEL_TORCH_PYTHON"):
        return Path(named)
    folder = PROJECT / "build/python-torch"
    print("getting torch for processors (once, about 200 MB) and building the package ...", flush=True)
    subprocess.run(["cmake", "--build", PROJECT / "build", "--target", "accel_profiler_runtime"], stdout=subprocess.DEVNULL)
    done = subprocess.run([sys.executable, PROJECT / "tools/python_env.py", folder, "--torch"], capture_output=True, text=True)
    if done.returncode != 0:
        print((done.stderr.strip().splitlines() or ["no environment"])[-1])
        return None
    return folder / "bin/python"


def live(python: Path, steps: int) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    shutil.rmtree(OUT, ignore_errors=True)
    print(f"1. Training, with the recorder asleep until: {RULE}\n", flush=True)
    run = subprocess.run([python.parent / "accel-profiler", "run", "-o", OUT, "--trigger", RULE, "--steps", str(WINDOW), "--", python, TRAIN, f"steps={steps}"],
                         env=environment, stdout=subprocess.PIPE, text=True)
    print(run.stdout, flush=True)
    report = OUT / "report/report.json"
    if run.returncode != 0 or not report.exists():
        raise Stopped(f"no window was recorded (exit status {run.returncode})")
    found = json.loads(report.read_text())["findings"]
    loader = next((finding for finding in found if finding["rule"] == "dataloader_starvation"), None)
    if loader is None or loader["gain"] is None:
        raise Stopped("loading does not hold the training up on this machine")
    workers = workers_of(loader["action"]["title"])
    print(f"2. The fix: {loader['action']['title']}; {steps} steps without and with it, nothing recorded\n", flush=True)
    before, after = (median_step(python, environment, count, steps) for count in (0, workers))
    gain = loader["gain"]
    now = json.loads(report.read_text())["step_time"]["undisturbed_ms"]
    print(f"  foretold  {now:.1f} ms -> {gain['step_ms']:.1f} ms ({gain['step_low_ms']:.1f} to {gain['step_high_ms']:.1f}), {gain['speedup']:.2f}x "
          f"({gain['speedup_low']:.2f} to {gain['speedup_high']:.2f})")
    print(f"  measured  {before:.1f} ms -> {after:.1f} ms, {before / after:.2f}x")
    print(f"\n3. The report: {OUT.relative_to(PROJECT)}/report/report.html")


def workers_of(title: str) -> int:
    number = re.search(r"\d+", title)
    return int(number.group()) if number else 1


def median_step(python: Path, environment, workers: int, steps: int) -> float:
    times = OUT / f"times-{workers}.json"
    done = subprocess.run([python, TRAIN, f"workers={workers}", f"steps={steps}", f"times={times}"], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise Stopped((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    return statistics.median(json.loads(times.read_text())[LEFT_OUT:])


if __name__ == "__main__":
    sys.exit(main())
