"""A program that acts on what the profiler finds while it runs: when training starves, the next epoch has more loader workers.

    more_workers.py [EPOCHS]
"""

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from accel.profiler import AutoProfiler, schedule


class Images(Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, index):
        time.sleep(0.002)  # decoding
        return torch.randn(64), index % 10


def main():
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    workers = 0

    def act(finding):
        nonlocal workers
        if finding["rule"] == "dataloader_starvation":
            print(f"{finding['title']}: the next epoch has {workers + 1} workers", flush=True)
            workers += 1

    AutoProfiler.enable()
    AutoProfiler.on_finding(act)  # on a thread of its own; the training never waits for it
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        began = time.time()
        AutoProfiler.capture(schedule(warmup=1, active=4, level=2))
        for inputs, labels in DataLoader(Images(), batch_size=8, num_workers=workers):
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {time.time() - began:.1f} s with {workers} workers", flush=True)
        time.sleep(1.0)  # evaluation, saving: the window is analysed meanwhile
    AutoProfiler.disable()


if __name__ == "__main__":
    main()
