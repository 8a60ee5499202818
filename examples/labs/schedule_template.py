"""Lab: a window from inside the program, by schedule(wait, warmup, active), and its diagnosis at the end."""

import os
from pathlib import Path

import torch
from torch import nn

import accel.profiler as ap
from accel.profiler import AutoProfiler


def main():
    folder = f"accel-captures/lab-{os.getpid()}"
    AutoProfiler.enable(folder)  # asleep
    AutoProfiler.capture(ap.schedule(wait=10, warmup=2, active=6, level=2))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(60):
        with ap.scope("make a batch", category="data_loading"):
            inputs, labels = torch.randn(32, 64), torch.randint(0, 10, (32,))
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    AutoProfiler.disable()  # an open window is closed and written
    (trace,) = Path(folder).glob("*.pt.trace.json.gz")  # with every op; beside it NAME.accel, with scopes alone
    print(ap.analyze(trace))


if __name__ == "__main__":
    main()
