#!/usr/bin/env python3
"""Records captures of every rank of distributed jobs with known truth on the GPUs of this machine.

    tests/device/record_ranks.py OUT_DIR [--only NAME]... [--ranks N]

One process a GPU (NCCL); without GPUs, or with more --ranks than GPUs, processes over gloo. All jobs are first timed with no profiler,
then recorded one after the other: CUPTI stays in the way of every CUDA call once a process has recorded. OUT_DIR gets
NAME.rankR.json.gz, NAME.rankR.flight_recorder.json.gz (NCCL), NAME.truth.json (step times, what was planted, versions)
and topo.txt. Needs torch; takes about a minute.
"""

import argparse
import contextlib
import gc
import gzip
import json
import os
import shutil
import subprocess
import sys
import time

os.environ.setdefault("TORCH_NCCL_TRACE_BUFFER_SIZE", "4000")

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

CUDA = torch.cuda.is_available()
SCALE = 1 if CUDA else 8


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        return x + self.net(x)


class Job:
    """A data-parallel model with one batch of `rows`; `before(step)` runs on the host ahead of each step."""

    def __init__(self, rank, rows=8192, before=None, after_forward=None, bucket_mb=25, overlapped=True):
        width, depth = 2048 // SCALE, 6
        self.device = torch.device("cuda", torch.cuda.current_device()) if CUDA else torch.device("cpu")
        torch.manual_seed(1)
        self.plain = nn.Sequential(*[Block(width) for _ in range(depth)]).to(self.device)
        self.model = DistributedDataParallel(self.plain, bucket_cap_mb=bucket_mb) if overlapped else self.plain
        self.overlapped = overlapped
        self.optimizer = torch.optim.AdamW(self.plain.parameters(), lr=1e-4, fused=CUDA)
        self.batch = torch.randn(rows // SCALE**2, width, device=self.device)
        self.before, self.after_forward, self.count = before, after_forward, 0

    def step(self):
        if self.before is not None:
            self.before(self.count)
        self.count += 1
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=CUDA):
            out = self.model(self.batch)
            if self.after_forward is not None:
                out = self.after_forward(out)
            loss = out.float().square().mean()
        loss.backward()
        if not self.overlapped:
            for parameter in self.plain.parameters():
                dist.all_reduce(parameter.grad)
        self.optimizer.step()


def slow_read(milliseconds, when=lambda step: True):
    """A data loader of the training process that takes too long."""

    def fetch(step):
        if when(step):
            with torch.profiler.record_function("read_batch"):
                time.sleep(milliseconds / 1e3)

    return fetch


def jobs(rank, world):
    """NAME: (what was planted, function that makes this rank's job)."""
    last = world - 1
    here = lambda who, value: value if rank == who else None  # noqa: E731
    garbage = [[i] for i in range(1_500_000 // SCALE)] if rank == 0 else []

    def collect(_step):
        if garbage:
            gc.collect()

    def count_words(_step):  # a plain Python loop
        total = 0
        for i in range(400_000 // SCALE):
            total += i % 7
        return total

    def more_products(out):
        for _ in range(30):
            out = out + (out @ out.T[:, : out.shape[1]] if out.shape[0] >= out.shape[1] else out) * 1e-9
        return out

    return {
        "even": ({}, lambda: Job(rank)),
        "slow_reader": ({"rank": 0, "side": "host", "ms": 12}, lambda: Job(rank, before=here(0, slow_read(12)))),
        "takes_turns": ({"alternating": True, "ms": 15}, lambda: Job(rank, before=slow_read(15, lambda step: step % world == rank))),
        "once": ({"rank": last, "one_step": True, "ms": 40}, lambda: Job(rank, before=here(last, slow_read(40, lambda step: step % 16 == 12)))),
        "collects": ({"rank": 0, "side": "host", "cause": "garbage collection"}, lambda: Job(rank, before=here(0, collect))),
        "python_on_one": ({"rank": last, "side": "host", "cause": "python"}, lambda: Job(rank, before=here(last, count_words))),
        "larger_batch": ({"rank": last, "side": "device", "cause": "twice the rows"}, lambda: Job(rank, rows=16384 if rank == last else 8192)),
        "extra_work": ({"rank": 0, "side": "device", "cause": "extra products"}, lambda: Job(rank, after_forward=here(0, more_products))),
        "small_buckets": ({"cause": "many small collectives"}, lambda: Job(rank, bucket_mb=0.05)),
        "not_overlapped": ({"cause": "collectives after backward"}, lambda: Job(rank, overlapped=False)),
    }


def wait():
    if CUDA:
        torch.cuda.synchronize()


def timed(job, steps):
    dist.barrier()
    wait()
    begin = time.perf_counter()
    for _ in range(steps):
        job.step()
    wait()
    return (time.perf_counter() - begin) / steps * 1e3


def packed(path, data):
    with gzip.open(path, "wb") as file:
        file.write(data)


def flight_recorder(path):
    if dist.get_backend() == "nccl":
        dump = torch._C._distributed_c10d._dump_nccl_trace_json(includeCollectives=True, onlyActive=False)
        packed(path, dump if isinstance(dump, bytes) else dump.encode())


def record(name, job, rank, out, active=8):
    path = os.path.join(out, f"{name}.rank{rank}.json")
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if CUDA else [])
    dist.barrier()
    with profile(activities=activities, schedule=schedule(wait=1, warmup=3, active=active), record_shapes=True) as prof:
        for _ in range(4 + active):
            job.step()
            prof.step()
        wait()
    prof.export_chrome_trace(path)
    with open(path, "rb") as file:
        packed(path + ".gz", file.read())
    os.remove(path)
    flight_recorder(os.path.join(out, f"{name}.rank{rank}.flight_recorder.json.gz"))


def work(rank, world, out, names):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29411", RANK=str(rank), WORLD_SIZE=str(world))
    if CUDA:
        torch.cuda.set_device(rank % torch.cuda.device_count())
    else:
        torch.set_num_threads(1)
    own_gpu = CUDA and world <= torch.cuda.device_count()
    dist.init_process_group("nccl" if own_gpu else "gloo", rank=rank, world_size=world)
    gc.disable()
    all_jobs = {name: entry for name, entry in jobs(rank, world).items() if not names or name in names}
    truths = {}
    for name, (planted, make) in all_jobs.items():
        job = make()
        timed(job, 8)
        truths[name] = {"job": name, "planted": planted, "world": world, "backend": dist.get_backend(), "step_ms": timed(job, 32), "torch": torch.__version__,
                        "device": torch.cuda.get_device_name() if CUDA else "cpu", "recorded": time.strftime("%Y-%m-%d")}
        del job
    for name, (_, make) in all_jobs.items():
        job = make()
        timed(job, 5)
        record(name, job, rank, out)
        del job
        if rank == 0:
            with open(os.path.join(out, name + ".truth.json"), "w") as file:
                json.dump(truths[name], file, indent=1)
            print(f"{name:16} {truths[name]['step_ms']:9.2f} ms a step", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--only", action="append", choices=sorted(jobs(0, 1)), help="record this job alone (repeatable)")
    parser.add_argument("--ranks", type=int, help="processes (default: one a GPU, 2 without)")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    world = arguments.ranks or (torch.cuda.device_count() if CUDA else 2)
    mp.spawn(work, args=(world, arguments.out, arguments.only), nprocs=world)
    if CUDA and shutil.which("nvidia-smi"):
        with contextlib.suppress(OSError), open(os.path.join(arguments.out, "topo.txt"), "w") as file:
            subprocess.run(["nvidia-smi", "topo", "-m"], stdout=file, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
