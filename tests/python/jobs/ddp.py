"""A DDP job over gloo that knows nothing of any profiler: ddp.py [late=MS] [losses=FILE] [arrivals=FILE]; rank 1 is late by so much each step.
arrivals: when each step's exchange of gradients could begin on each rank, in ms of one clock."""

import json
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

settings = {"late": "0", "losses": "", "arrivals": "", "steps": "32"}
settings.update(word.split("=", 1) for word in sys.argv[1:])


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(rank)
    losses, naps, arrivals = [], [], []
    for _ in range(int(settings["steps"])):
        inputs, labels = torch.randn(16, 64, generator=generator), torch.randint(0, 10, (16,), generator=generator)
        if rank == 1:
            began = time.perf_counter()
            time.sleep(float(settings["late"]) / 1000)
            naps.append((time.perf_counter() - began) * 1e3)
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        arrivals.append(time.monotonic() * 1e3)
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
    if settings["losses"]:
        with open(f"{settings['losses']}.{rank}", "w") as file:
            json.dump(losses, file)
    if settings["arrivals"]:
        with open(f"{settings['arrivals']}.{rank}", "w") as file:
            json.dump(arrivals, file)
    if rank == 1:
        print(json.dumps({"planted_ms": naps}))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
