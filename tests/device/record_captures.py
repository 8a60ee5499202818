#!/usr/bin/env python3
"""Records training captures with known truth on the GPU of this machine.

    tests/device/record_captures.py OUT_DIR [--set jobs|pairs] [--only NAME]...

Each job trains a small real model (jobs.py; fault_pairs.py: a fault and the same job without it). Its step time is
measured first with no profiler (mean of a loop, median of single steps), then a few steps are recorded with
torch.profiler. OUT_DIR gets NAME.json.gz (the capture) and NAME.truth.json (step times, what was planted, versions).
Needs torch with CUDA; takes about ten seconds a job.
"""

import argparse
import functools
import gc
import gzip
import json
import os
import shutil
import statistics
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


def measure(name, out, fetch, step, planted, steps, warm, active):
    active = planted.get("active", active)
    steps, warm = (6, 2) if SMALL else (planted.get("steps", steps), warm)
    for _ in range(warm):
        step(*fetch())
    sync()
    singles, begin = [], time.perf_counter()
    for _ in range(steps):
        t = time.perf_counter()
        step(*fetch())
        singles.append(time.perf_counter() - t)
    sync()
    mean = (time.perf_counter() - begin) / steps

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
    prof.export_chrome_trace(path)
    with open(path, "rb") as plain, gzip.open(path + ".gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    os.remove(path)
    truth = {
        "job": name, "planted": planted, "step_ms": mean * 1e3, "host_step_ms_median": statistics.median(singles) * 1e3,
        "active_steps": active, "torch": torch.__version__, "cuda": torch.version.cuda,
        "device": torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu", "recorded": time.strftime("%Y-%m-%d"),
        "key_averages_top": [
            {"key": row.key, "count": row.count, "self_cpu_us": row.self_cpu_time_total, "cpu_us": row.cpu_time_total,
             "self_dev_us": row.self_device_time_total, "dev_us": row.device_time_total}
            for row in sorted(prof.key_averages(), key=lambda row: -row.self_device_time_total)[:25]],
    }
    with open(os.path.join(out, name + ".truth.json"), "w") as file:
        json.dump(truth, file, indent=1)
    print(f"{name:28} {truth['step_ms']:9.2f} ms a step, median {truth['host_step_ms_median']:8.2f}, capture {os.path.getsize(path + '.gz') / 1e6:.2f} MB", flush=True)


def leave_no_trace():
    """What a job set for the process must not reach the next one."""
    gc.enable()
    gc.unfreeze()
    gc.collect()
    torch.backends.cudnn.benchmark = False
    torch._dynamo.reset()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count()))
    if DEVICE == "cuda":
        torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--set", choices=sorted(SETS), help="only this set")
    parser.add_argument("--only", action="append", choices=sorted(JOBS), help="record this job alone (repeatable)")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    failed = 0
    for name in arguments.only or SETS.get(arguments.set, JOBS):
        try:
            record(name, arguments.out)
        except Exception as error:  # one job's failure must not cost the others
            failed += 1
            print(f"{name:28} FAILED: {error}", file=sys.stderr, flush=True)
        leave_no_trace()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
