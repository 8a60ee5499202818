#!/usr/bin/env python3
"""Records training captures whose host is at fault, with known truth, on the GPU of this machine.

    tests/device/record_host_faults.py OUT_DIR [--only NAME]...

Like record_captures.py, for faults of the host and of single steps: collections of garbage, checkpoints, evaluation,
accumulation, recompilation, warm-up inside the window, loaders that are slow in one way each. OUT_DIR gets
NAME.json.gz and NAME.truth.json. Needs torch with CUDA; takes about ten seconds a job.
"""

import argparse
import gc
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset

from record_captures import DEVICE, SMALL, ConvNet, Vit, classifier_step, images_on_device, scaled, sync

STACK = {"with_stack": True}


def small_vit():
    return Vit(width=256, depth=4, heads=4).to(DEVICE)


def counted(step, every, extra):
    """Runs `extra` after every `every`-th step."""
    state = {"n": 0}

    def run(*batch):
        step(*batch)
        state["n"] += 1
        if state["n"] % every == 0:
            extra()

    return run


class Node:
    def __init__(self):
        self.me, self.values = self, [0] * 8


def job_gc_collect_each_step():
    keep = [Node() for _ in range(150000)]
    step = classifier_step(small_vit())
    return images_on_device(scaled(64, 2), 128), counted(step, 1, lambda: (gc.collect(), len(keep))), {"fault": "garbage_collection", "profile": STACK}


def job_gc_automatic():
    keep = [Node() for _ in range(150000)]
    step = classifier_step(small_vit())
    return images_on_device(scaled(64, 2), 128), counted(step, 1, lambda: ([Node() for _ in range(60000)], len(keep)) and None), {"fault": "garbage_collection or python_overhead", "note": "no stacks"}


def job_checkpoint_every_4():
    model = Vit(width=768, depth=8, heads=12).to(DEVICE)
    path = os.path.join(tempfile.gettempdir(), "checkpoint.pt")
    step = counted(classifier_step(model), 4, lambda: torch.save(model.state_dict(), path))
    return images_on_device(scaled(64, 2), 128), step, {"fault": "checkpoint_stall", "every": 4, "profile": STACK, "active": 8}


def job_checkpoint_every_4_no_stack():
    fetch, step, planted = job_checkpoint_every_4()
    return fetch, step, {**planted, "profile": {}}


def job_evaluation_every_3():
    model = small_vit()
    images, labels = images_on_device(scaled(64, 2), 128)()

    def evaluate():
        with torch.no_grad():
            for _ in range(4):
                model(images)

    return lambda: (images, labels), counted(classifier_step(model), 3, evaluate), {"fault": None, "note": "evaluation inside every third step", "active": 8}


def job_accumulation_4():
    model = small_vit()
    optimizer = torch.optim.AdamW(model.parameters(), fused=DEVICE == "cuda")
    state = {"n": 0}

    def step(images, labels):
        with torch.autocast(DEVICE, torch.bfloat16):
            loss = nn.functional.cross_entropy(model(images).float(), labels)
        loss.backward()
        state["n"] += 1
        if state["n"] % 4 == 0:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    return images_on_device(scaled(64, 2), 128), step, {"fault": None, "note": "accumulates over 4 steps", "active": 8}


def job_recompiles():
    torch._dynamo.reset()
    torch._dynamo.config.cache_size_limit = 64
    model = torch.compile(nn.Sequential(nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 10)).to(DEVICE), dynamic=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    state = {"n": 0}

    def step():
        state["n"] += 1
        optimizer.zero_grad()
        model(torch.randn(64 + state["n"], 256, device=DEVICE)).sum().backward()
        optimizer.step()

    return lambda: (), step, {"fault": "recompilation", "steps": 6, "warm": 2, "active": 4}


def job_warmup_in_window():
    torch._dynamo.reset()
    torch.backends.cudnn.benchmark = True
    model = ConvNet(width=64).to(DEVICE)
    step = classifier_step(torch.compile(model))
    return images_on_device(scaled(64, 2), 96), step, {"fault": "warmup_in_window", "steps": 0, "warm": 0, "wait": 0, "warmup": 0, "active": 8}


def job_warmup_eager():
    torch.backends.cudnn.benchmark = True
    model = ConvNet(width=96).to(DEVICE, memory_format=torch.channels_last)
    return images_on_device(scaled(192, 2), 112), classifier_step(model), {"fault": "warmup_in_window", "note": "eager, cudnn.benchmark", "steps": 0, "warm": 0, "wait": 0, "warmup": 0, "active": 8}


def job_varying_shapes():
    torch.backends.cudnn.benchmark = True
    model = ConvNet(width=64).to(DEVICE)
    inner, state = classifier_step(model), {"n": 0}

    def step():
        state["n"] += 1
        side = 64 + 8 * (state["n"] * 7 % 23)
        inner(torch.randn(scaled(48, 2), 3, side, side, device=DEVICE), torch.randint(10, (scaled(48, 2),), device=DEVICE))

    return lambda: (), step, {"fault": "varying_shapes", "note": "another image size every step, cudnn.benchmark on", "active": 8, "steps": 20, "warm": 3}


def job_optimizer_loop():
    model = Vit(width=256, depth=8, heads=4).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False, fused=False)

    def step(images, labels):
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast(DEVICE, torch.bfloat16):
            loss = nn.functional.cross_entropy(model(images).float(), labels)
        loss.backward()
        optimizer.step()

    return images_on_device(scaled(64, 2), 128), step, {"fault": "unfused_optimizer", "also": "redundant_zero_grad"}


class HandMadeNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        return 0.5 * y * (1 + torch.tanh(0.7978845608 * (y + 0.044715 * y.pow(3))))


def job_hand_made_ops():
    model = small_vit()
    for block in model.blocks:
        block.norm1, block.norm2 = HandMadeNorm(256).to(DEVICE), HandMadeNorm(256).to(DEVICE)
        block.mlp = nn.Sequential(nn.Linear(256, 1024), HandMadeNorm(1024), nn.Linear(1024, 256)).to(DEVICE)
    return images_on_device(scaled(64, 2), 128), classifier_step(model), {"fault": "fragmented_kernels"}


def job_numpy_round_trip():
    model = small_vit()
    weights = torch.randn(512, 512)

    def on_cpu(_loss, logits):
        scores = logits.float().detach().cpu()
        for _ in range(10):
            weights.copy_((weights @ weights.T).softmax(-1))
        scores.softmax(-1).sort(-1)

    return images_on_device(scaled(64, 2), 128), classifier_step(model, after=on_cpu), {"fault": "cpu_fallback"}


def job_python_loop():
    def burn():
        total = 0
        for i in range(400000):
            total += i * i % 7
        return total

    return images_on_device(scaled(64, 2), 128), counted(classifier_step(small_vit()), 1, burn), {"fault": "python_overhead"}


def job_log_every_4():
    def log():
        with open(os.path.join(tempfile.gettempdir(), "log.txt"), "w") as file:
            for i in range(60000):
                file.write(json.dumps({"step": i}))

    return images_on_device(scaled(64, 2), 128), counted(classifier_step(small_vit()), 4, log), {"fault": "step_outlier", "every": 4, "profile": STACK, "active": 8}


def job_one_core_shared():
    cores = os.sched_getaffinity(0)
    core = min(cores)
    others = [subprocess.Popen(["taskset", "-c", str(core), sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    os.sched_setaffinity(0, {core})
    torch.set_num_threads(1)

    def undo():
        os.sched_setaffinity(0, cores)
        for other in others:
            other.kill()
            other.wait()

    return images_on_device(scaled(64, 2), 128), classifier_step(small_vit()), {"fault": "cpu_contention", "undo": undo, "steps": 20}


def job_python_thread():
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            sum(range(20000))

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    return images_on_device(scaled(64, 2), 128), classifier_step(small_vit()), {"fault": "cpu_contention", "note": "another Python thread holds the interpreter", "undo": stop.set, "steps": 20}


def decode_image(index, side=128):
    values = [0.0] * side
    for i in range(30000):
        values[i % side] += (index * i) % 11
    return torch.tensor(values).expand(3, side, side).contiguous()


class DecodedImages(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, index):
        return decode_image(index), index % 10


class ReadyImages(Dataset):
    """Samples cost nothing; `before` may wait for something."""

    def __init__(self, before=None, side=128):
        self.image, self.before = torch.zeros(3, side, side), before

    def __len__(self):
        return 100000

    def __getitem__(self, index):
        if self.before is not None:
            self.before(index)
        return self.image, index % 10


STORE = os.path.join(tempfile.gettempdir(), "samples.bin")
LOCK = threading.Lock()


def read_from_storage(index):
    with open(STORE, "rb", buffering=0) as file:
        file.seek(index * 4096 % (64 << 20))
        for _ in range(64):
            file.read(1 << 16)


def slow_collate(samples):
    images = [[float(v) for v in image.flatten()[:20000].tolist()] for image, _ in samples]
    return torch.tensor(images)[:, :3 * 64 * 64].reshape(len(samples), 3, 64, 64).repeat(1, 1, 2, 2), torch.tensor([label for _, label in samples])


def loader(dataset, batch, pin=False, **options):
    batches = iter(DataLoader(dataset, batch_size=batch, pin_memory=pin and DEVICE == "cuda", **options))

    def fetch():
        images, labels = next(batches)
        return images.to(DEVICE, non_blocking=pin), labels.to(DEVICE, non_blocking=pin)

    return fetch


def loader_job(fetch, how):
    return fetch, classifier_step(small_vit()), {"fault": "dataloader_starvation", "how": how, "profile": STACK, "steps": 12, "warm": 4}


def job_loader_decode():
    return loader_job(loader(DecodedImages(), scaled(16, 2)), "slow decode in the main process, decode_image")


def job_loader_decode_workers():
    return loader_job(loader(DecodedImages(), scaled(32, 2), num_workers=2, pin=True), "too few workers, slow decode")


def job_loader_collate():
    return loader_job(loader(ReadyImages(), scaled(24, 2), collate_fn=slow_collate), "slow collate_fn in the main process")


def job_loader_storage():
    with open(STORE, "wb") as file:
        file.truncate(80 << 20)
    return loader_job(loader(ReadyImages(read_from_storage), scaled(32, 2)), "reads from storage in the main process")


def job_loader_lock():
    def hold():
        while True:
            with LOCK:
                time.sleep(0.02)

    threading.Thread(target=hold, daemon=True).start()

    def wait(_index):
        with LOCK:
            pass

    return loader_job(loader(ReadyImages(wait), 1), "waits for a lock in the main process")


class Heavy(Dataset):
    """Workers make nothing; what they send is large Python data."""

    def __len__(self):
        return 100000

    def __getitem__(self, index):
        return torch.zeros(3, 128, 128), index % 10, [f"token {index} {i}" for i in range(20000)]


def keep_lists(samples):
    return torch.stack([s[0] for s in samples]), torch.tensor([s[1] for s in samples]), [s[2] for s in samples]


def job_loader_pickle():
    batches = iter(DataLoader(Heavy(), batch_size=scaled(16, 2), num_workers=8, collate_fn=keep_lists))

    def fetch():
        images, labels, _ = next(batches)
        return images.to(DEVICE), labels.to(DEVICE)

    return loader_job(fetch, "large Python objects from the workers")


JOBS = {name[4:]: function for name, function in list(globals().items()) if name.startswith("job_")}


def record(name, out):
    torch.manual_seed(0)
    fetch, step, planted = JOBS[name]()
    undo = planted.pop("undo", None)
    steps, warm = planted.pop("steps", 40), planted.pop("warm", 10)
    active, warmup = planted.pop("active", 5), planted.pop("warmup", 3)
    wait = planted.pop("wait", 1)
    if SMALL:
        steps, warm = min(steps, 4), min(warm, 1)

    singles, mean = [], None

    def measure():
        begin = time.perf_counter()
        for _ in range(steps):
            t = time.perf_counter()
            step(*fetch())
            singles.append(time.perf_counter() - t)
        sync()
        return (time.perf_counter() - begin) / steps

    for _ in range(warm):
        step(*fetch())
    sync()
    if steps:
        mean = measure()
    path = os.path.join(out, name + ".json")
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])
    options = {"record_shapes": True, **planted.get("profile", {})}
    with profile(activities=activities, schedule=schedule(wait=wait, warmup=warmup, active=active, repeat=1), **options) as prof:
        for _ in range(wait + warmup + active):
            step(*fetch())
            prof.step()
        sync()
    prof.export_chrome_trace(path)
    if not steps:
        steps = 40
        mean = measure()
    if undo is not None:
        undo()
    with open(path, "rb") as plain, gzip.open(path + ".gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    os.remove(path)
    truth = {"job": name, "planted": planted, "step_ms": mean * 1e3, "host_step_ms_median": statistics.median(singles) * 1e3,
             "active_steps": active, "cores": len(os.sched_getaffinity(0)), "torch": torch.__version__,
             "device": torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu", "recorded": time.strftime("%Y-%m-%d")}
    with open(os.path.join(out, name + ".truth.json"), "w") as file:
        json.dump(truth, file, indent=1)
    print(f"{name:28} {truth['step_ms']:9.2f} ms a step, median {truth['host_step_ms_median']:8.2f}, capture {os.path.getsize(path + '.gz') / 1e6:.2f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--only", action="append", choices=sorted(JOBS), help="record this job alone (repeatable)")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    failed = 0
    for name in arguments.only or JOBS:
        try:
            record(name, arguments.out)
        except Exception as error:  # one job's failure must not cost the others
            failed += 1
            print(f"{name:28} FAILED: {error!r}", file=sys.stderr, flush=True)
        gc.collect()
        if DEVICE == "cuda":
            torch.cuda.empty_cache()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
