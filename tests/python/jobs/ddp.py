"""A DDP job over gloo that knows nothing of any profiler: ddp.py [late=MS] [losses=FILE]; rank 1 is late by so much each step."""

import json
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

settings = {"late": "0", "losses": "", "steps": "32"}
settings.update(word.split("=", 1) for word in sys.argv[1:])


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(rank)
    losses, naps = [], []
    for _ in range(int(settings["steps"])):
        inputs, labels = torch.randn(16, 64, generator=generator), torch.randint(0, 10, (16,), generator=generator)
        if rank == 1:
            began = time.perf_counter()
            time.sleep(float(settings["late"]) / 1000)
            naps.append((time.perf_counter() - began) * 1e3)
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
    if settings["losses"]:
        with open(f"{settings['losses']}.{rank}", "w") as file:
            json.dump(losses, file)
    if rank == 1:
        print(json.dumps({"planted_ms": naps}))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
