"""Trains for soak.py SECONDS with a rule in force and a window every 400 steps, of both levels in turn; prints what the process
holds as time goes by: resident memory, files open, threads, bytes written."""

import json
import os
import sys
import threading
import time

import torch
from torch import nn

from accel.profiler import AutoProfiler, TriggerRule, schedule

torch.set_num_threads(1)
folder = os.environ["ACCEL_PROFILER_OUTPUT"]


def status() -> dict:
    with open("/proc/self/status") as file:
        kib = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    sizes = {entry.name: entry.stat().st_size for entry in os.scandir(folder)} if os.path.isdir(folder) else {}
    return {"rss_mib": kib / 1024, "files": len(os.listdir("/proc/self/fd")), "threads": threading.active_count(),
            "native_threads": len(os.listdir("/proc/self/task")), "steps": steps, "windows": windows,
            "run_bytes": sum(size for name, size in sizes.items() if name.endswith(".accelrun")),
            "captures": sorted(size for name, size in sizes.items() if name.endswith(".accel"))}


AutoProfiler.enable(folder)
TriggerRule("loss < -1 and p50(step_time_ms, 20) > 2 * baseline_step_ms", "capture_next_steps(3)")
model = nn.Sequential(*(nn.Linear(32, 32) for _ in range(6)))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
inputs = torch.randn(8, 32)
steps = windows = 0
told, ends, next_look = [], time.monotonic() + float(sys.argv[1]), 0.0
while time.monotonic() < ends:
    optimizer.zero_grad()
    model(inputs).square().mean().backward()
    optimizer.step()
    steps += 1
    if steps % 400 == 0 and AutoProfiler.capture(schedule(warmup=1, active=3, level=1 + windows % 2)):
        windows += 1
    if time.monotonic() > next_look:
        told.append(status())
        next_look = time.monotonic() + float(sys.argv[1]) / 40
told.append(status())
AutoProfiler.disable()
print(json.dumps(told))
