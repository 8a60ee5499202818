"""Lab: .item() in every step makes the host wait for the device. item.py [fixed=1] [steps=N]"""

import sys

import torch
from torch import nn

settings = {"fixed": "0", "steps": "60"}
settings.update(word.split("=", 1) for word in sys.argv[1:])


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(512, 512) for _ in range(8))).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs = torch.randn(64, 512, device=device)
    total, sum_on_device = 0.0, torch.zeros((), device=device)
    for _ in range(int(settings["steps"])):
        loss = model(inputs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if settings["fixed"] == "1":
            sum_on_device += loss.detach()  # stays where it is; read once, at the end
        else:
            total += loss.item()  # waits until the device has done the whole step
    print(f"mean loss {(total or sum_on_device.item()) / int(settings['steps']):.4f}")


if __name__ == "__main__":
    main()
