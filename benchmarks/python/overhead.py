#!/usr/bin/env python3
"""What the Python package costs a training step: paired blocks of steps in one process.

    overhead.py [--device cpu|cuda] [--rounds N] [--json FILE] [--only MODEL]

Each round runs, in changing order, one block of steps for each way: off (no hook), off again (A/A), idle (enabled, asleep), level 1
(a window is open all the time), and rules (asleep, a rule over loss and step time). Reported: the median over rounds of
(way - off) / off, with the quartiles, and the same of off against off. Beside it the cost of a single call, the
lowest of 90 loops of 2,000, times the calls of a step: where the noise of the steps is wider than a promise, that is the figure.
Answers first: the losses of every way must be bit-identical.
"""

import argparse
import json
import random
import statistics
import tempfile
import time

from accel.profiler import AutoProfiler, schedule, scope

import torch
from torch import nn

WAYS = ("off", "off again", "idle", "level 1", "rules")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.act, self.b, self.norm = nn.Linear(width, width), nn.GELU(), nn.Linear(width, width), nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x + self.b(self.act(self.a(x))))


def tower(width, blocks):
    return nn.Sequential(*(Block(width) for _ in range(blocks)))


MODELS = {
    # name: (width, blocks of 5 modules, rows, steps a block of steps on cuda, on cpu)
    "launch_bound_180_modules": (64, 36, 8, 20, 10),
    "thousand_modules": (32, 200, 4, 6, 4),
    "device_bound": (4096, 8, 4096, 10, 0),
    "cpu_example": (256, 6, 64, 0, 25),
}


class Job:
    def __init__(self, name, device):
        width, blocks, rows, on_cuda, on_cpu = MODELS[name]
        self.steps = on_cuda if device == "cuda" else on_cpu
        self.device = device
        torch.manual_seed(0)
        self.model = tower(width, blocks).to(device)
        self.start = {key: value.clone() for key, value in self.model.state_dict().items()}
        self.input = torch.randn(rows, width, device=device)
        self.modules = sum(1 for _ in self.model.modules())

    def block(self):
        """One block of steps from the same start: seconds, and the losses."""
        self.model.load_state_dict(self.start)
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        losses = []
        self.sync()
        # On a processor the CPU time of the one thread that trains: what else runs on the machine is not in it.
        clock = time.perf_counter if self.device == "cuda" else time.thread_time
        began = clock()
        for _ in range(self.steps):
            loss = self.model(self.input).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        self.sync()
        return clock() - began, [value.item().hex() for value in losses]

    def sync(self):
        if self.device == "cuda":
            torch.cuda.synchronize()


class Way:
    """Puts a way of running in place for one block, and takes it away again."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder

    def __enter__(self):
        if self.name.startswith("off"):
            return
        assert AutoProfiler.enable(self.folder, max_seconds=600)
        if self.name == "rules":
            AutoProfiler.add_rule("loss < -1 and p50(step_time_ms, 20) > 2 * baseline_step_ms")
        if self.name == "level 1":
            AutoProfiler.capture(schedule(warmup=0, active=1_000_000, level=1))
            deadline = time.time() + 5
            while AutoProfiler.state() != "ACTIVE" and time.time() < deadline:
                AutoProfiler._session.steps.mark()  # a window opens at a step mark
                time.sleep(0.002)
            assert AutoProfiler.state() == "ACTIVE"

    def __exit__(self, *_):
        AutoProfiler.disable()
        while AutoProfiler.state() != "OFF":
            time.sleep(0.001)


def measure(name, device, rounds, folder):
    job = Job(name, device)
    for way in WAYS:
        with Way(way, folder):
            job.block()
    seconds = {way: [] for way in WAYS}
    losses = None
    for _ in range(rounds):
        for way in random.sample(WAYS, len(WAYS)):
            with Way(way, folder):
                if way == "level 1":
                    job.block()  # names of the modules are made in the first step of a window
                took, said = job.block()
            losses = losses or said
            assert said == losses, f"{name}: the losses of '{way}' differ"
            seconds[way].append(took)
    step_ms = statistics.median(seconds["off"]) / job.steps * 1e3
    rows = {}
    for way in WAYS[1:]:
        shares = [(a - b) / b * 100 for a, b in zip(seconds[way], seconds["off"])]
        low, middle, high = statistics.quantiles(shares, n=4)
        rows[way] = {"percent": middle, "q25": low, "q75": high}
    return {"model": name, "device": device, "modules": job.modules, "steps": job.steps * rounds, "step_ms": step_ms, "ways": rows}


def cost_of_calls(folder, calls=2_000, loops=90):
    """Added microseconds for each module call, scope and step mark: the lowest of many loops, which other work on the machine
    disturbs least."""
    module = nn.Identity()
    x = torch.ones(1)

    def loop(body):
        best = []
        for _ in range(loops):
            began = time.perf_counter()
            body()
            best.append((time.perf_counter() - began) / calls * 1e6)
        return min(best)

    def modules():
        for _ in range(calls):
            module(x)

    def scopes():
        for _ in range(calls):
            with stage:
                pass

    class Nothing:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

    off = loop(modules)
    stage = Nothing()
    nothing = loop(scopes)
    told = {}
    for way in ("idle", "level 1"):
        with Way(way, folder):
            stage = scope("stage")
            told[way] = {"module_call_us": loop(modules) - off, "scope_us": loop(scopes), "empty_with_us": nothing,
                         "step_mark_us": loop_of_marks()}
    return told


def loop_of_marks(count=500, loops=40):
    mark = AutoProfiler._session.steps.mark
    best = []
    for _ in range(loops):
        began = time.perf_counter()
        for _ in range(count):
            mark()
        best.append((time.perf_counter() - began) / count * 1e6)
    return min(best)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--json")
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    if options.device == "cpu":
        torch.set_num_threads(1)
    result = {"torch": torch.__version__, "device": options.device, "models": []}
    with tempfile.TemporaryDirectory() as folder:
        for name, row in MODELS.items():
            steps = row[3] if options.device == "cuda" else row[4]
            if steps == 0 or (options.only and name not in options.only):
                continue
            one = measure(name, options.device, options.rounds, folder)
            result["models"].append(one)
            print(f"{name}: step {one['step_ms']:.3f} ms, {one['modules']} modules, {one['steps']} steps for each way")
            for way, figures in one["ways"].items():
                print(f"  {way:10} {figures['percent']:+.2f} % [{figures['q25']:+.2f}, {figures['q75']:+.2f}]")
        result["calls"] = cost_of_calls(folder)
        for way, figures in result["calls"].items():
            print(f"{way}: " + ", ".join(f"{name} {value:.3f}" for name, value in figures.items()))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
