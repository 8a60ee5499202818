#!/usr/bin/env python3
"""What a window of level 2 sees of an NVIDIA GPU, what it costs, and what it leaves behind.

    tests/device/device_windows.py LIBRARY OUT_DIR [--only MODE]... [--model MODEL]... [--pairs N]

LIBRARY is libaccel_profiler_runtime.so. For each model (launch: launch-bound, gpu: GPU-bound, graph: a CUDA graph) and
each mode a process of its own runs blocks of 30 steps between two synchronisations:

    control       never touches CUPTI
    light, rich   windows of ours (kernels and copies; API calls too)
    torch_cuda    torch.profiler, CUDA alone
    torch_both    torch.profiler, CPU and CUDA
    turns         ours, torch.profiler, ours ... in turns, on the same steps

First come 4 plain blocks, then pairs of a recorded and a plain block. OUT_DIR gets MODEL.MODE.json (milliseconds a step
of every block, in order), the captures and table.md. Needs torch; 5 minutes.
"""

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import time

STEPS = 30
MODES = ("control", "light", "rich", "torch_cuda", "torch_both", "turns")


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("output", ctypes.c_char_p), ("rank", ctypes.c_int32),
                ("world_size", ctypes.c_int32), ("max_ring_bytes", ctypes.c_uint64), ("max_capture_bytes", ctypes.c_uint64),
                ("max_capture_seconds", ctypes.c_uint32)]


class Schedule(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("struct_size", "wait", "warmup", "active", "repeat", "level", "steady_wait")]


class Recorder:
    """The runtime SDK through its C ABI."""

    IDLE, ARMED, ACTIVE, DRAINING = 1, 3, 4, 5
    NO_SIGNAL, NO_SOCKET, DEVICE_ACTIVITY, DEVICE_CALLS = 1, 2, 128, 256

    def __init__(self, library, folder, calls):
        self.c = ctypes.CDLL(library)
        flags = self.NO_SIGNAL | self.NO_SOCKET | self.DEVICE_ACTIVITY | (self.DEVICE_CALLS if calls else 0)
        options = Options(ctypes.sizeof(Options), flags, folder.encode(), -1, -1, 0, 0, 0)
        if self.c.accel_enable(ctypes.byref(options)) != 0:
            raise RuntimeError("the recorder does not start")

    def arm(self, steps):
        schedule = Schedule(ctypes.sizeof(Schedule), 0, 1, steps, 1, 2, 0)
        if self.c.accel_capture(ctypes.byref(schedule)) != 0:
            raise RuntimeError("no window")

    def state(self):
        return self.c.accel_runtime_state()

    def step(self):
        self.c.accel_step(None)

    def settle(self):
        if self.c.accel_wait(30000) != 0:
            raise RuntimeError("the window does not end")
        path = ctypes.create_string_buffer(1024)
        self.c.accel_capture_path(path, 1024)
        return path.value.decode()


def launch_model(torch):
    nn = torch.nn
    torch.manual_seed(1)
    layers = [nn.Sequential(nn.Linear(128, 128), nn.LayerNorm(128), nn.GELU()) for _ in range(60)]
    model = nn.Sequential(*layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    x = torch.randn(64, 128, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        optimizer.step()

    return step


def gpu_model(torch):
    nn = torch.nn
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True, norm_first=True)
    model = nn.TransformerEncoder(layer, 8, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    x = torch.randn(16, 1024, 1024, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(x).float().square().mean()
        loss.backward()
        optimizer.step()

    return step


def graph_model(torch):
    nn = torch.nn
    torch.manual_seed(1)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(128, 128), nn.LayerNorm(128), nn.GELU()) for _ in range(60)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True, capturable=True)
    x = torch.randn(64, 128, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(4):
            optimizer.zero_grad(set_to_none=True)
            model(x).square().mean().backward()
            optimizer.step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        model(x).square().mean().backward()
        optimizer.step()
    return graph.replay


MODELS = {"launch": launch_model, "gpu": gpu_model, "graph": graph_model}


def worker(library, out, model_name, mode, pairs):
    import torch
    from torch.profiler import ProfilerActivity, profile

    gc.disable()
    folder = os.path.join(out, f"{model_name}.{mode}")
    recorder = Recorder(library, folder, mode == "rich")
    work = MODELS[model_name](torch)
    steps = STEPS * (2 if model_name == "graph" else 1)
    blocks, captures, traces = [], [], []

    def timed(kind, count=steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            work()
            recorder.step()
        torch.cuda.synchronize()
        blocks.append({"kind": kind, "ms": (time.perf_counter() - begin) * 1e3 / count})

    def plain():
        timed("plain")

    def ours():
        recorder.arm(steps)
        deadline = time.time() + 20
        while recorder.state() != Recorder.ACTIVE and time.time() < deadline:
            work()
            torch.cuda.synchronize()
            recorder.step()
        work()  # the warm-up step of the window
        torch.cuda.synchronize()
        recorder.step()
        timed("ours")
        begin = time.perf_counter()
        captures.append(recorder.settle())
        blocks[-1]["stop_ms"] = (time.perf_counter() - begin) * 1e3

    def theirs(activities, name):
        torch.cuda.synchronize()
        with profile(activities=activities) as prof:
            timed(name)
            begin = time.perf_counter()
        blocks[-1]["stop_ms"] = (time.perf_counter() - begin) * 1e3
        if len(traces) < 2:
            path = os.path.join(out, f"{model_name}.{mode}.{len(traces)}.json")
            prof.export_chrome_trace(path)
            traces.append(path)

    cuda, both = [ProfilerActivity.CUDA], [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    recorded = {"control": plain, "light": ours, "rich": ours, "torch_cuda": lambda: theirs(cuda, "torch_cuda"),
                "torch_both": lambda: theirs(both, "torch_both")}
    for _ in range(20):
        work()
        recorder.step()
    for _ in range(4):
        plain()
    if mode == "turns":
        for i in range(4):
            ours() if i % 2 == 0 else theirs(cuda, "torch_cuda")
    else:
        for _ in range(pairs):
            recorded[mode]()
            plain()
    for path in captures[2:]:
        os.remove(path)
    import resource

    result = {"model": model_name, "mode": mode, "steps": steps, "blocks": blocks, "captures": captures[:2], "traces": traces,
              "max_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "torch": torch.__version__,
              "device": torch.cuda.get_device_name(), "recorded": time.strftime("%Y-%m-%d")}
    with open(os.path.join(out, f"{model_name}.{mode}.json"), "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
    plains = [b["ms"] for b in blocks if b["kind"] == "plain"]
    others = [b["ms"] for b in blocks if b["kind"] != "plain"]
    print(f"{model_name:7} {mode:11} plain first {sorted(plains[:4])[2]:8.3f} recorded {sorted(others)[len(others) // 2] if others else 0:8.3f} "
          f"plain after {sorted(plains[4:])[len(plains[4:]) // 2] if plains[4:] else 0:8.3f} ms a step", flush=True)


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def interval(values, share=0.95):
    """Of the median, by order statistics (binomial), as (low, high)."""
    from math import comb

    ordered, n = sorted(values), len(values)
    rank, tail = 0, 0.0
    while rank < n // 2 and 2 * (tail + comb(n, rank) / 2**n) <= 1 - share:
        tail += comb(n, rank) / 2**n
        rank += 1
    low = max(rank - 1, 0)
    return ordered[low], ordered[n - 1 - low]


def table(out):
    """What a recorded block adds to the mean of the plain ones beside it, and what stays: Markdown text."""
    lines = ["| model | mode | plain before, ms | recorded adds, % of a step (95 %) | plain after the first window, % (95 %) | to close a window, ms |",
             "|---|---|---|---|---|---|"]
    for name in sorted(os.listdir(out)):
        if name.count(".") != 2 or not name.endswith(".json"):
            continue
        with open(os.path.join(out, name), encoding="utf-8") as file:
            run = json.load(file)
        blocks = run["blocks"]
        before = median([b["ms"] for b in blocks[1:4]])
        adds = [(b["ms"] / ((blocks[i - 1]["ms"] + blocks[i + 1]["ms"]) / 2) - 1) * 100
                for i, b in enumerate(blocks[:-1]) if i > 4 and b["kind"] != "plain" and blocks[i - 1]["kind"] == blocks[i + 1]["kind"] == "plain"]
        stays = [(b["ms"] / before - 1) * 100 for b in blocks[4:] if b["kind"] == "plain"]
        stops = [b["stop_ms"] for b in blocks if "stop_ms" in b]
        show = lambda values: "" if not values else "{:+.1f} ({:+.1f} to {:+.1f})".format(median(values), *interval(values))  # noqa: E731
        lines.append(f"| {run['model']} | {run['mode']} | {before:.3f} | {show(adds)} | {show(stays)} | {f'{median(stops):.1f}' if stops else ''} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("out")
    parser.add_argument("--only", action="append", choices=MODES)
    parser.add_argument("--model", action="append", choices=sorted(MODELS))
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    library = os.path.abspath(args.library)
    if args.worker:
        worker(library, args.out, args.worker[0], args.worker[1], args.pairs)
        return 0
    failed = 0
    for model in args.model or sorted(MODELS, reverse=True):
        for mode in args.only or MODES:
            command = [sys.executable, __file__, library, args.out, "--pairs", str(args.pairs), "--worker", model, mode]
            status = subprocess.run(command, check=False).returncode
            if status != 0:
                print(f"{model} {mode}: ended with {status}", flush=True)
                failed += 1
    text = table(args.out)
    with open(os.path.join(args.out, "table.md"), "w", encoding="utf-8") as file:
        file.write(text)
    print(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
