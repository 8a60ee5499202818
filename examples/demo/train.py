"""Trains a small network on pictures that are unpacked and scaled in Python: the loader is slower than the training.

    train.py [workers=N] [steps=N] [times=FILE]

Knows nothing of any profiler. times=FILE keeps the milliseconds of each step."""

import json
import random
import sys
import time
import zlib

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

settings = {"workers": "0", "steps": "120", "times": ""}
settings.update(word.split("=", 1) for word in sys.argv[1:])
STEPS, BATCH, SIDE = int(settings["steps"]), 8, 48


class Pictures(Dataset):
    """Packed pictures of four kinds, made on the spot."""

    def __init__(self):
        source = random.Random(0)
        self.packed = []
        for kind in range(4):
            pixels = bytes(min(255, source.randrange(64) + kind * 60) for _ in range(2 * SIDE * 2 * SIDE))
            self.packed.append(zlib.compress(pixels, 9))

    def __len__(self):
        return BATCH * STEPS

    def __getitem__(self, index):
        pixels = zlib.decompress(self.packed[index % 4])
        half = [(pixels[2 * SIDE * row + column] + pixels[2 * SIDE * row + column + 1]) / 510
                for row in range(0, 2 * SIDE, 2) for column in range(0, 2 * SIDE, 2)]
        return torch.tensor(half).view(1, SIDE, SIDE), index % 4


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                          nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    times, began = [], time.perf_counter()
    for pictures, kinds in DataLoader(Pictures(), batch_size=BATCH, num_workers=int(settings["workers"])):
        loss = nn.functional.cross_entropy(model(pictures), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        now = time.perf_counter()
        times.append((now - began) * 1e3)
        began = now
    print(f"trained {len(times)} steps, loss {loss.item():.4f}")
    if settings["times"]:
        with open(settings["times"], "w") as file:
            json.dump(times, file)


if __name__ == "__main__":
    main()
