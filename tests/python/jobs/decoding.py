"""A training job whose data set spends its time in two functions of known shares, and knows nothing of any profiler.

decoding.py [workers=N] [start=fork|spawn|forkserver] [share=0.73] [ms=24] [steps=N] [how=sleeps|holds]

decode() takes `share` of the `ms` that a batch takes, augment() the rest; what they took is printed at the end. Both sleep, or wait in
a native call that holds the interpreter's lock."""

import ctypes
import json
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

settings = {"workers": "0", "start": "fork", "share": "0.73", "ms": "24", "steps": "60", "how": "sleeps"}
settings.update(word.split("=", 1) for word in sys.argv[1:])
BATCH = 4
native = ctypes.PyDLL(None)  # its calls keep the lock
spend = time.sleep if settings["how"] == "sleeps" else native.usleep
SAMPLE_S = float(settings["ms"]) / 1000 / BATCH
SHARE = float(settings["share"])


def take(share):
    seconds = SAMPLE_S * share
    return seconds if spend is time.sleep else int(seconds * 1e6)


def decode(_index):
    spend(take(SHARE))  # decode's time goes here


def augment(_index):
    spend(take(1 - SHARE))


class Pictures(Dataset):
    def __len__(self):
        return int(settings["steps"]) * BATCH

    def __getitem__(self, index):
        began = time.perf_counter()
        decode(index)
        between = time.perf_counter()
        augment(index)
        return torch.full((16,), float(index)), torch.tensor([between - began, time.perf_counter() - between])


def main():
    torch.set_num_threads(1)
    model = nn.Linear(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    workers = int(settings["workers"])
    loader = DataLoader(Pictures(), batch_size=BATCH, num_workers=workers,
                        multiprocessing_context=settings["start"] if workers else None)
    began = time.perf_counter()
    took = torch.zeros(2)
    for batch, times in loader:
        took += times.sum(dim=0)
        loss = model(batch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(json.dumps({"planted_ms": [], "step_ms": (time.perf_counter() - began) * 1e3 / len(loader),
                      "decode_share": float(took[0] / took.sum())}))


if __name__ == "__main__":
    main()
