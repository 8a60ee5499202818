#!/usr/bin/env python3
"""What torch.profiler.record_function costs, off and on: p50 and p99 over blocks of 200 and of single ranges, in ns, as
JSON. Proves first that the ranges arrive in the profile. Needs PyTorch; run.py starts it."""

import json
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile, record_function

BLOCK = 200
BLOCKS = 400
SINGLES = 20000


def figures(values):
    values.sort()
    return {"p50": values[len(values) // 2], "p99": values[len(values) * 99 // 100]}


def blocks(call):
    costs = []
    for _ in range(BLOCKS):
        start = time.perf_counter_ns()
        for _ in range(BLOCK):
            call()
        costs.append((time.perf_counter_ns() - start) / BLOCK)
    return figures(costs)


def singles(call):
    costs = []
    for _ in range(SINGLES):
        start = time.perf_counter_ns()
        call()
        costs.append(time.perf_counter_ns() - start)
    return figures(costs)


def ranged():
    with record_function("work"):
        pass


def empty():
    pass


def main():
    torch.set_num_threads(1)
    out = {"torch": torch.__version__, "python": sys.version.split()[0]}
    blocks(ranged)
    out["empty call"] = {"blocks": blocks(empty), "singles": singles(empty)}
    out["record_function, no profiler"] = {"blocks": blocks(ranged), "singles": singles(ranged)}
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        out["record_function, torch.profiler on"] = {"blocks": blocks(ranged), "singles": singles(ranged)}
    seen = sum(row.count for row in profiler.key_averages() if row.key == "work")
    if seen != BLOCK * BLOCKS + SINGLES:
        sys.exit(f"{seen} ranges arrived in the profile, {BLOCK * BLOCKS + SINGLES} were made")
    print(json.dumps(out))


if __name__ == "__main__":
    main()
