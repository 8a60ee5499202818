#!/usr/bin/env python3
"""What sampling Python stacks costs: paired level 1 windows with and without it, in one process.

    stacks.py [--rounds N] [--depth N]

The job is a tower of 181 modules below DEPTH more Python calls [30]. Each round takes one window with stacks and one without, in
changing order; reported are the medians of (with - without) / without over rounds, with the quartiles, of the training thread's CPU
time, and what the sampling thread itself took, by its own clock (stack_cost_us in the capture). Answers first: the capture with
stacks holds samples of the right function, the other holds none.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch import nn

from accel.profiler import AutoProfiler, schedule
from accel.profiler.engine import engine_path

STEPS = 40


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.act, self.b, self.norm = nn.Linear(width, width), nn.GELU(), nn.Linear(width, width), nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x + self.b(self.act(self.a(x))))


def below(depth, step):
    return step() if depth == 0 else below(depth - 1, step)


def window(step, depth, folder, stacks):
    """CPU seconds of a step, and the capture."""
    recorder = AutoProfiler._session.recorder
    recorder.use_python(stacks)
    AutoProfiler.capture(schedule(wait=0, warmup=1, active=STEPS, level=1, steady_wait=0))
    while AutoProfiler.state() != "ACTIVE":
        below(depth, step)
    below(depth, step)
    began = time.thread_time()
    for _ in range(STEPS - 4):
        below(depth, step)
    took = (time.thread_time() - began) / (STEPS - 4)
    while AutoProfiler.state() == "ACTIVE":
        below(depth, step)
    recorder.wait(5000)
    return took, AutoProfiler.newest_capture()


def stacks_of(capture, folder):
    """What the capture says of its stacks."""
    subprocess.run([engine_path(), "analyze", capture, "-o", folder, "--quiet"], check=True, capture_output=True)
    report = json.loads(Path(folder, "report.json").read_text())
    return {key: int(value) for key, value in report["job"]["environment"].items() if key.startswith("stack_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--depth", type=int, default=30)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = nn.Sequential(*(Block(64) for _ in range(36)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(8, 64)

    def step():
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    shares, samples, costs, looked = [], 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        AutoProfiler.enable(output=folder, max_seconds=300)
        for number in range(options.rounds):
            took = {}
            for stacks in random.sample((True, False), 2):
                took[stacks], capture = window(step, options.depth, folder, stacks)
                said = stacks_of(capture, folder)
                assert bool(said.get("stack_samples")) == stacks, said
                if stacks:
                    samples, costs, looked = samples + said["stack_samples"], costs + said["stack_cost_us"], looked + said["stack_looked_us"]
            shares.append(100 * (took[True] - took[False]) / took[False])
        AutoProfiler.disable()
    low, middle, high = statistics.quantiles(shares, n=4)
    print(f"training thread: {middle:+.2f} % [{low:+.2f}, {high:+.2f}] of its CPU time, {options.rounds} pairs of windows of {STEPS} steps")
    print(f"sampling thread: {100 * costs / looked:.2f} % of a core, {costs / samples:.0f} us a sample, {1e6 * samples / looked:.0f} samples a second")


if __name__ == "__main__":
    sys.exit(main())
