"""Lab: training starves because each sample is decoded in the training process. starvation.py [fixed=1] [steps=N]"""

import sys
import zlib

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

settings = {"fixed": "0", "steps": "60"}
settings.update(word.split("=", 1) for word in sys.argv[1:])
STEPS, BATCH = int(settings["steps"]), 8
PACKED = zlib.compress(bytes(range(256)) * 256, 9)


class Samples(Dataset):
    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, index):
        values = zlib.decompress(PACKED)
        picked = [values[(index * 31 + k * 7) % len(values)] / 255 for k in range(12_000)]  # decoding, in Python
        return torch.tensor(picked[:256]), index % 10


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, labels in DataLoader(Samples(), batch_size=BATCH, num_workers=1 if settings["fixed"] == "1" else 0):
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
