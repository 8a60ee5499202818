"""Lab: attention written out keeps a matrix of scores for each head. attention_memory.py [fixed=1] [steps=N] [length=N]"""

import math
import sys

import torch
from torch import nn

settings = {"fixed": "0", "steps": "40", "length": "256"}
settings.update(word.split("=", 1) for word in sys.argv[1:])
LENGTH, HEADS, WIDTH, BATCH = int(settings["length"]), 4, 64, 4


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.view(BATCH, LENGTH, HEADS, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        if settings["fixed"] == "1":
            mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # BATCH x HEADS x LENGTH x LENGTH, kept for backward
            mixed = scores.softmax(dim=-1) @ v
        return x + self.out(mixed.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = nn.Sequential(Attention(), Attention()).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs = torch.randn(BATCH, LENGTH, WIDTH, device=device)
    for _ in range(int(settings["steps"])):
        loss = model(inputs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scores_mib = BATCH * HEADS * LENGTH * LENGTH * 4 / 2**20
    print(f"loss {loss.item():.4f}; the scores of one layer take {scores_mib:.0f} MiB, and with their softmax twice that")


if __name__ == "__main__":
    main()
