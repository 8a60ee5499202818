#!/usr/bin/env python3
"""Records training captures with known truth on the GPU of this machine.

    tests/device/record_captures.py OUT_DIR [--set jobs|pairs] [--only NAME]... [--seconds N]

Each job trains a small real model (jobs.py; fault_pairs.py: a fault and the same job without it). Its step time is
measured first with no profiler (mean of a loop, median of single steps), then a few steps are recorded with
torch.profiler, then the step time is measured again. Each job has a process of its own: CUPTI stays in the way of every
CUDA call once a process has recorded, so that a step measured afterwards is no step without a profiler. OUT_DIR gets
NAME.json.gz (the capture) and NAME.truth.json (step times, what was planted, versions). Needs torch with CUDA; takes
about ten seconds a job.
"""

import argparse
import functools
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile, schedule

import fault_pairs
import jobs
from jobs import DEVICE, SMALL


def sync():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


SETS = {
    "jobs": {name[4:]: function for name, function in vars(jobs).items() if name.startswith("job_")},
    "pairs": {f"{pair}_{side}": functools.partial(fault_pairs.job_of, f"{pair}_{side}") for pair in fault_pairs.PAIRS for side in ("before", "after")},
}
JOBS = {name: function for jobs_of_set in SETS.values() for name, function in jobs_of_set.items()}


def record(name, out, steps=60, warm=15, active=5):
    torch.manual_seed(0)
    fetch, step, planted = JOBS[name]()
    stop = planted.pop("stop", lambda: None)
    try:
        measure(name, out, fetch, step, planted, steps, warm, active)
    finally:
        stop()


def time_steps(fetch, step, count):
    """(mean of a loop, median of single steps), in seconds."""
    sync()
    singles, begin = [], time.perf_counter()
    for _ in range(count):
        t = time.perf_counter()
        step(*fetch())
        singles.append(time.perf_counter() - t)
    sync()
    return (time.perf_counter() - begin) / count, statistics.median(singles)


def measure(name, out, fetch, step, planted, steps, warm, active):
    active = planted.get("active", active)
    steps, warm = (6, 2) if SMALL else (planted.get("steps", steps), warm)
    for _ in range(warm):
        step(*fetch())
    mean, single = time_steps(fetch, step, steps)

    path = os.path.join(out, name + ".json")
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])
    options = {"record_shapes": True, **planted.get("profile", {})}
    stepped = not planted.get("no_steps")
    with profile(activities=activities, schedule=schedule(wait=1, warmup=3, active=active) if stepped else None, **options) as prof:
        for _ in range(4 + active if stepped else active):
            step(*fetch())
            if stepped:
                prof.step()
        sync()
    mean_after, single_after = time_steps(fetch, step, max(2, steps // 2))
    prof.export_chrome_trace(path)
    with open(path, "rb") as plain, gzip.open(path + ".gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    os.remove(path)
    truth = {
        "job": name, "planted": planted, "step_ms": mean * 1e3, "host_step_ms_median": single * 1e3,
        "step_ms_after_recording": mean_after * 1e3, "host_step_ms_median_after_recording": single_after * 1e3,
        "active_steps": active, "torch": torch.__version__, "cuda": torch.version.cuda,
        "device": torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu", "recorded": time.strftime("%Y-%m-%d"),
        "key_averages_top": [
            {"key": row.key, "count": row.count, "self_cpu_us": row.self_cpu_time_total, "cpu_us": row.cpu_time_total,
             "self_dev_us": row.self_device_time_total, "dev_us": row.device_time_total}
            for row in sorted(prof.key_averages(), key=lambda row: -row.self_device_time_total)[:25]],
    }
    with open(os.path.join(out, name + ".truth.json"), "w") as file:
        json.dump(truth, file, indent=1)
    print(f"{name:28} {truth['step_ms']:9.2f} ms a step, median {truth['host_step_ms_median']:8.2f}, after recording {mean_after * 1e3:9.2f}, capture {os.path.getsize(path + '.gz') / 1e6:.2f} MB", flush=True)


class Turn:
    """A process with one job, which waits for its turn with everything imported."""

    def __init__(self, name, out):
        self.name = name
        command = [sys.executable, os.path.abspath(__file__), out, "--here", name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait_until_ready(self):
        self.process.stdout.readline()

    def take(self):
        """Whether the job was recorded."""
        said, _ = self.process.communicate("go\n")
        print(said, end="", flush=True)
        return self.process.returncode == 0

    def leave_out(self):
        self.process.communicate("")


def record_here(name, out):
    print("ready", flush=True)
    if sys.stdin.readline():
        record(name, out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--set", choices=sorted(SETS), help="only this set")
    parser.add_argument("--only", action="append", choices=sorted(JOBS), help="record this job alone (repeatable)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no job later than this")
    parser.add_argument("--here", choices=sorted(JOBS), help="record this job in this process, when a line comes in")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    if arguments.here:
        record_here(arguments.here, arguments.out)
        return 0
    names = arguments.only or list(SETS.get(arguments.set, JOBS))
    failed, end = 0, time.monotonic() + arguments.seconds
    together = 2 * (os.cpu_count() or 1)
    for first in range(0, len(names), together):
        turns = [Turn(name, arguments.out) for name in names[first : first + together]]
        for turn in turns:
            turn.wait_until_ready()  # nobody imports while another one's steps are timed
        for turn in turns:
            if time.monotonic() > end:
                print(f"{turn.name:28} left out: no time", flush=True)
                turn.leave_out()
            elif not turn.take():
                failed += 1
                print(f"{turn.name:28} FAILED", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
