"""A training job that knows nothing of any profiler.

plain.py [fault=loader|python|tiny|stacked|crash|exit] [ms=20] [steps=N] [workers=N] [losses=FILE] [compile=1]

Prints one JSON line at its end: for each step what the planted fault took, measured by the job itself, and the median step.
stacked is what tiny does one by one, in one op over all."""

import json
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

settings = {"fault": "none", "steps": "100", "workers": "0", "losses": "", "compile": "0", "ms": "20"}
settings.update(word.split("=", 1) for word in sys.argv[1:])
fault, steps, planted_s = settings["fault"], int(settings["steps"]), float(settings["ms"]) / 1000
planted = []  # ms a step
least = []  # ms a step of it that were slept in this process: the rest of a wait is loading, and other programs on a busy machine
slept = 0.0


def nap(seconds: float) -> float:
    start = time.perf_counter()
    time.sleep(seconds)
    return (time.perf_counter() - start) * 1e3


class Images(Dataset):
    def __len__(self):
        return steps * 8

    def __getitem__(self, index):
        if fault == "loader":
            global slept
            slept += nap(planted_s / 8)
        generator = torch.Generator().manual_seed(index)
        return torch.randn(256, generator=generator), torch.tensor(index % 10)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(256, 256) for _ in range(6))
        self.head = nn.Linear(256, 10)

    def forward(self, x):
        for number, block in enumerate(self.blocks):
            x = torch.relu(block(x))
            if fault == "python" and number == 2:
                planted.append(nap(planted_s))
        return self.head(x)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Net()
    call = torch.compile(model, backend="aot_eager", fullgraph=True) if settings["compile"] == "1" else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scale = nn.Parameter(torch.ones(16))
    if fault in ("tiny", "stacked"):
        optimizer = torch.optim.SGD([scale], lr=0.01)
    losses, took = [], []
    batches = iter(DataLoader(Images(), batch_size=8, num_workers=int(settings["workers"])))
    for _ in range(steps):
        began, slept_before = time.perf_counter(), slept
        inputs, labels = next(batches)
        waited = (time.perf_counter() - began) * 1e3
        if fault == "loader":
            planted.append(waited)
            least.append(slept - slept_before if settings["workers"] == "0" else waited)
        if fault == "tiny":  # the samples of a batch one by one, in ops of sixteen numbers
            optimizer.zero_grad()
            for sample in inputs.view(-1, 16):
                loss = (torch.relu(sample * scale + 1) - sample).pow(2).mean()
                loss.backward()
        elif fault == "stacked":
            optimizer.zero_grad()
            samples = inputs.view(-1, 16)
            loss = (torch.relu(samples * scale + 1) - samples).pow(2).mean(dim=1).sum()
            loss.backward()
        else:
            loss = nn.functional.cross_entropy(call(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
        took.append((time.perf_counter() - began) * 1e3)
        if fault == "crash" and len(losses) == steps - 2:
            raise RuntimeError("the training broke")
        if fault == "exit" and len(losses) == steps - 2:
            sys.exit(7)
    if settings["losses"]:
        with open(settings["losses"], "w") as file:
            json.dump(losses, file)
    print(json.dumps({"planted_ms": planted, "least_ms": least or planted, "loss": losses[-1], "step_ms": sorted(took)[len(took) // 2]}))


if __name__ == "__main__":
    main()
