#!/usr/bin/env python3
"""The Python package on a machine with a GPU: same bits, compile and CUDA graphs untouched, the loss without waiting, captures of
`run`, out of memory, overhead.

    framework_layer.py OUT_DIR [--wheel FILE] [--only CHECK]... [--rounds N]

--wheel installs the package first (tests/device/make_package.sh builds it). Each check runs in a process of its own and
ends with a line of JSON; OUT_DIR/framework_layer.json gets them all, with "passed" and figures, and OUT_DIR/captures the
captures of `run`. Needs torch with CUDA; about five minutes. Exit status 1 when a check failed."""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent

MODEL = '''
import json, os, sys, time
INSIDE = os.environ.get("INSIDE") == "1"
if INSIDE:
    from accel.profiler import AutoProfiler
    import accel.profiler as ap
    AutoProfiler.enable(os.environ["FOLDER"])
import torch
from torch import nn
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b, self.norm = nn.Linear(width, width), nn.Linear(width, width), nn.LayerNorm(width)
    def forward(self, x):
        return self.norm(x + self.b(torch.relu(self.a(x))))
def tower(width=256, blocks=8):
    return nn.Sequential(*(Block(width) for _ in range(blocks))).cuda()
def capture_after(step, at, level=1):
    if INSIDE and step == at:
        AutoProfiler.capture(ap.schedule(warmup=1, active=4, level=level))
'''

TRAIN = MODEL + '''
mode = sys.argv[1]
model = tower()
call, dtype, scaler = model, torch.float32, torch.amp.GradScaler("cuda", enabled=mode == "amp")
if mode == "compiled": call = torch.compile(model, fullgraph=True)
if mode == "reduce-overhead": call = torch.compile(model, mode="reduce-overhead")
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
x = torch.randn(64, 256, device="cuda")
losses = []
for step in range(30):
    capture_after(step, 8, 2 if mode == "level2" else 1)
    with torch.autocast("cuda", dtype=torch.float16, enabled=mode == "amp"):
        loss = call(x).square().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer); scaler.update()
    losses.append(loss.detach().clone())
torch.cuda.synchronize()
from torch._dynamo.utils import counters
print(json.dumps({"losses": [float(v).hex() for v in losses], "breaks": sum(counters["graph_break"].values()),
                  "recompiles": sum(counters["recompiles"].values()), "notes": AutoProfiler.notes() if INSIDE else []}))
'''

GRAPH = MODEL + '''
model = tower()
optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
x = torch.randn(64, 256, device="cuda")
def step():
    optimizer.zero_grad(set_to_none=True)
    loss = model(x).square().mean(); loss.backward(); optimizer.step()
    return loss
side = torch.cuda.Stream(); side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for number in range(4):
        capture_after(number, 0)
        step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph): loss = step()
losses = []
for _ in range(20):
    graph.replay(); losses.append(loss.detach().clone())
print(json.dumps({"losses": [float(v).hex() for v in losses]}))
'''

IDLE = MODEL.replace('AutoProfiler.enable(os.environ["FOLDER"])', 'AutoProfiler.enable("captures")') + '''
assert not torch.cuda.is_initialized()
import accel.profiler
maps = open("/proc/self/maps").read()
print(json.dumps({"cuda_initialized": torch.cuda.is_initialized(), "state": AutoProfiler.state(), "type": type(nn.Module.__call__).__name__}))
'''

LOSS = MODEL + '''
model = tower(64, 2); optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
x = torch.randn(64, 64, device="cuda"); scaler = torch.amp.GradScaler("cuda")
AutoProfiler.add_rule("loss < 1e9 and step > 20 => mark('seen')")
truth, seen = [], []
original = AutoProfiler._session.recorder.step
class Spy:
    def __getattr__(self, name): return getattr(_real, name)
    def step(self, loss, *rest): seen.append(loss); return original(loss, *rest)
_real = AutoProfiler._session.recorder
AutoProfiler._session.steps._recorder = Spy()
torch.cuda.set_sync_debug_mode("default")
for step in range(60):
    loss = model(x * (step + 1)).square().mean() * (step + 1)
    optimizer.zero_grad(); scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()
    truth.append(float(loss))
known = [value for value in seen if value == value]
print(json.dumps({"steps": len(seen), "known": len(known), "wrong": [v for v in known if not any(abs(v - t) <= 1e-6 * abs(t) for t in truth)],
                  "late": max((i - min(range(len(truth)), key=lambda k: abs(truth[k] - v))) for i, v in enumerate(seen) if v == v)}))
'''

LEFTOVER = MODEL + '''
model = tower(64, 36); optimizer = torch.optim.SGD(model.parameters(), lr=0.01); x = torch.randn(8, 64, device="cuda")
def steps(count):
    torch.cuda.synchronize(); began = time.perf_counter()
    for _ in range(count):
        loss = model(x).square().mean(); optimizer.zero_grad(); loss.backward(); optimizer.step()
    torch.cuda.synchronize(); return (time.perf_counter() - began) / count * 1e3
steps(30)
before = [steps(20) for _ in range(8)]
AutoProfiler.capture(ap.schedule(warmup=1, active=4, level=2))
steps(40)
time.sleep(2)
after = [steps(20) for _ in range(8)]
import glob
print(json.dumps({"before_ms": sorted(before)[4], "after_ms": sorted(after)[4], "trace": len(glob.glob(os.environ["FOLDER"] + "/*.pt.trace.json.gz")),
                  "notes": AutoProfiler.notes()}))
'''

JOB = MODEL.split("INSIDE =")[0] + '''
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
fault = sys.argv[1]
class Images(Dataset):
    def __len__(self): return 64 * 40
    def __getitem__(self, index):
        if fault == "loader" : time.sleep(0.0005)
        return torch.randn(3, 32, 32), index % 10
model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for images, labels in DataLoader(Images(), batch_size=64, num_workers=0 if fault == "loader" else 4, persistent_workers=fault != "loader"):
    loss = nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    if fault == "item": float(loss)
print(json.dumps({"loss": float(loss)}))
'''


def process(code, *words, folder, inside=True, **environment):
    env = {**os.environ, "INSIDE": "1" if inside else "0", "FOLDER": str(folder), **environment}
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, env=env, cwd=folder, timeout=400)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        raise AssertionError(f"exit status {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(lines[-1])


def same_bits(mode, code=TRAIN):
    def check(folder, _options):
        alone, inside = process(code, mode, folder=folder, inside=False), process(code, mode, folder=folder)
        assert alone["losses"] == inside["losses"], "the losses differ"
        for figure in ("breaks", "recompiles"):
            assert alone.get(figure) == inside.get(figure), (figure, alone.get(figure), inside.get(figure))
        return {"steps": len(alone["losses"]), **{k: v for k, v in inside.items() if k != "losses"}}

    return check


def idle(folder, _options):
    told = process(IDLE, folder=folder)
    assert told["state"] == "IDLE" and not told["cuda_initialized"] and told["type"] == "ModuleCall"
    return told


def loss(folder, _options):
    told = process(LOSS, folder=folder)
    assert told["known"] >= 40 and told["wrong"] == [] and told["late"] <= 10, told
    return told


def leftover(folder, _options):
    told = process(LEFTOVER, folder=folder)
    assert told["trace"] == 1, told
    return told


def run_of(fault):
    def check(folder, _options):
        captures = folder / f"run_{fault}"
        done = subprocess.run([sys.executable, "-m", "accel.profiler", "run", "-o", captures, "--", sys.executable, "-c", JOB, fault],
                              capture_output=True, text=True, cwd=folder, timeout=400)
        assert done.returncode == 0, done.stderr[-2000:]
        assert list(captures.glob("*.pt.trace.json.gz")), done.stderr[-2000:]
        (captures / "diagnosis.txt").write_text(done.stdout)
        return {"diagnosis": done.stdout[:1500]}

    return check


def overhead(folder, options):
    target = folder / "overhead.json"
    done = subprocess.run([sys.executable, PROJECT / "benchmarks/python/overhead.py", "--device", "cuda", "--rounds", str(options.rounds), "--json", target],
                          capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stderr[-2000:]
    print(done.stdout)
    return json.loads(target.read_text())


CHECKS = {
    "idle": idle,
    "plain": same_bits("plain"),
    "amp": same_bits("amp"),
    "level2": same_bits("level2"),
    "compiled": same_bits("compiled"),
    "reduce_overhead": same_bits("reduce-overhead"),
    "cuda_graph": same_bits("graph", GRAPH),
    "loss": loss,
    "run_loader": run_of("loader"),
    "run_item": run_of("item"),
    "run_healthy": run_of("healthy"),
    "leftover": leftover,
    "overhead": overhead,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--only", action="append", choices=CHECKS)
    parser.add_argument("--rounds", type=int, default=16)
    options = parser.parse_args()
    if options.wheel:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--force-reinstall",
                        "--break-system-packages", options.wheel], check=True)
    folder = (options.out / "captures").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    for name, check in CHECKS.items():
        if options.only and name not in options.only:
            continue
        began = time.time()
        try:
            results[name] = {"passed": True, "figures": check(folder, options)}
        except Exception as error:
            results[name] = {"passed": False, "error": f"{type(error).__name__}: {error}"}
        results[name]["seconds"] = round(time.time() - began, 1)
        print(name, "passed" if results[name]["passed"] else "FAILED " + results[name]["error"][:600], f"({results[name]['seconds']} s)", flush=True)
        (options.out / "framework_layer.json").write_text(json.dumps(results, indent=1))
    failed = [name for name, result in results.items() if not result["passed"]]
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
