"""Small real training jobs with a known fault or none, for record_captures.py.

A job is a function job_NAME() that returns (fetch, step, planted): fetch() gives the arguments of step().
"""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SMALL = DEVICE == "cpu"  # only to try the script where there is no GPU


class Block(nn.Module):
    """One pre-norm transformer block with PyTorch's own attention."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, w))
        return x + self.mlp(self.norm2(x))


class Vit(nn.Module):
    """A small vision transformer on images of side x side pixels in patches of 16."""

    def __init__(self, width=384, depth=8, heads=6, side=128, classes=100, after_block=None):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 16, 16)
        self.position = nn.Parameter(torch.zeros(1, (side // 16) ** 2, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.head = nn.Linear(width, classes)
        self.after_block = after_block

    def forward(self, images):
        x = self.patch(images).flatten(2).transpose(1, 2) + self.position
        for block in self.blocks:
            x = block(x)
            if self.after_block is not None:
                self.after_block(x)
        return self.head(x.mean(1))


class ConvNet(nn.Module):
    def __init__(self, width=64, classes=10):
        super().__init__()
        layers, channels = [], 3
        for i in range(6):
            out = width * (1 + i // 2)
            layers += [nn.Conv2d(channels, out, 3, stride=1 + i % 2, padding=1), nn.BatchNorm2d(out), nn.ReLU()]
            channels = out
        self.body, self.head = nn.Sequential(*layers), nn.Linear(channels, classes)

    def forward(self, images):
        return self.head(self.body(images).mean((2, 3)))


class CellRnn(nn.Module):
    """An LSTM cell called step by step: hundreds of tiny kernels."""

    def __init__(self, width=128, length=60):
        super().__init__()
        self.cell, self.head, self.length = nn.LSTMCell(width, width), nn.Linear(width, 10), length

    def forward(self, x):
        h = c = torch.zeros(x.shape[0], x.shape[2], device=x.device)
        for t in range(self.length):
            h, c = self.cell(x[:, t], (h, c))
        return self.head(h)


class SlowImages(Dataset):
    """Images whose decoding takes `sleep_s` of waiting and `work` rounds of arithmetic."""

    def __init__(self, side, sleep_s=0.0, work=0, count=100000):
        self.side, self.sleep_s, self.work, self.count = side, sleep_s, work, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.sleep_s:
            time.sleep(self.sleep_s)
        image = torch.full((3, self.side, self.side), float(index % 7))
        for _ in range(self.work):
            image = (image * 1.0001).clamp(-5, 5)
        return image, index % 10


def classifier_step(model, lr=1e-4, autocast=True, after=None, fused=True):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, fused=fused and DEVICE == "cuda")

    def step(images, labels):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=autocast):
            logits = model(images)
            loss = nn.functional.cross_entropy(logits.float(), labels)
        loss.backward()
        optimizer.step()
        if after is not None:
            after(loss, logits)

    return step


def images_on_device(batch, side, classes=10):
    images = torch.randn(batch, 3, side, side, device=DEVICE)
    labels = torch.randint(classes, (batch,), device=DEVICE)
    return lambda: (images, labels)


def from_loader(dataset, batch, pin=False, **options):
    loader = iter(DataLoader(dataset, batch_size=batch, pin_memory=pin and DEVICE == "cuda", **options))

    def fetch():
        images, labels = next(loader)
        return images.to(DEVICE, non_blocking=pin), labels.to(DEVICE, non_blocking=pin)

    return fetch


def scaled(gpu, cpu):
    return cpu if SMALL else gpu


def job_loader_one_slow_worker():
    model = Vit().to(DEVICE)
    data = from_loader(SlowImages(128, sleep_s=0.004), scaled(32, 4), num_workers=1)
    return data, classifier_step(model), {"fault": "dataloader_starvation", "where": "one worker, 4 ms a sample"}


def job_loader_in_process():
    model = ConvNet().to(DEVICE)
    data = from_loader(SlowImages(96, work=6), scaled(48, 4), num_workers=0)
    return data, classifier_step(model), {"fault": "dataloader_starvation", "where": "in the main process"}


def job_loader_enough_workers():
    model = Vit(width=512, depth=12, heads=8).to(DEVICE)
    data = from_loader(SlowImages(128, sleep_s=0.001), scaled(256, 4), pin=True, num_workers=12, prefetch_factor=4)
    return data, classifier_step(model), {"fault": None}


def job_sync_per_layer():
    model = Vit(width=768, depth=12, heads=12, after_block=lambda x: x.detach().float().abs().max().item()).to(DEVICE)
    return images_on_device(scaled(96, 2), 128), classifier_step(model), {"fault": "implicit_sync", "where": "aten::item after each block"}


def job_sync_once_harmless():
    model = Vit(width=768, depth=12, heads=12).to(DEVICE)
    return images_on_device(scaled(256, 2), 128), classifier_step(model, after=lambda loss, _: loss.item()), {"fault": None, "note": "one .item() a step on a device-bound job"}


def job_launch_rnn():
    model = CellRnn().to(DEVICE)
    x, labels = torch.randn(32, 60, 128, device=DEVICE), torch.randint(10, (32,), device=DEVICE)
    return lambda: (x, labels), classifier_step(model, autocast=False), {"fault": "launch_bound"}


def job_healthy_conv():
    model = ConvNet(width=128).to(DEVICE, memory_format=torch.channels_last)
    images, labels = images_on_device(scaled(512, 2), 128)()
    images = images.contiguous(memory_format=torch.channels_last)
    return lambda: (images, labels), classifier_step(model), {"fault": None}


def job_healthy_vit_stacks_memory():
    model = Vit(width=1024, depth=12, heads=16).to(DEVICE)
    return images_on_device(scaled(192, 2), 128), classifier_step(model), {"fault": None, "profile": {"with_stack": True, "profile_memory": True}}


def job_churn():
    model = Vit(width=512, depth=8, heads=8).to(DEVICE)

    def empty(_loss, _logits):
        if DEVICE == "cuda":
            torch.cuda.empty_cache()

    return images_on_device(scaled(160, 2), 128), classifier_step(model, after=empty), {"fault": "allocator_churn", "where": "empty_cache every step"}


def job_pageable_copy():
    model = ConvNet(width=64).to(DEVICE)
    images, labels = torch.randn(scaled(768, 4), 3, 128, 128), torch.randint(10, (scaled(768, 4),))
    return lambda: (images.to(DEVICE), labels.to(DEVICE)), classifier_step(model), {"fault": "host_to_device_copy", "where": "pageable"}


def job_pinned_copy_in_line():
    model = ConvNet(width=64).to(DEVICE)
    images, labels = torch.randn(scaled(1024, 4), 3, 128, 128), torch.randint(10, (scaled(1024, 4),))
    if DEVICE == "cuda":
        images, labels = images.pin_memory(), labels.pin_memory()
    return lambda: (images.to(DEVICE, non_blocking=True), labels.to(DEVICE, non_blocking=True)), classifier_step(model), {"fault": "host_to_device_copy", "where": "pinned, in line"}


def job_copy_back():
    model = Vit(width=384, depth=6, heads=6, classes=20000).to(DEVICE)
    kept = []

    def keep(_loss, logits):
        kept[:] = [logits.float().cpu()]

    return images_on_device(scaled(768, 2), 128), classifier_step(model, after=keep), {"fault": "device_to_host_copy"}


def job_graph_healthy():
    model = Vit(width=384, depth=8, heads=6).to(DEVICE)
    images, labels = images_on_device(scaled(64, 2), 128)()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, capturable=DEVICE == "cuda")

    def once():
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast(DEVICE, torch.bfloat16, cache_enabled=False):
            loss = nn.functional.cross_entropy(model(images).float(), labels)
        loss.backward()
        optimizer.step()

    if SMALL:
        return lambda: (), once, {"fault": None}
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            once()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        once()
    return lambda: (), graph.replay, {"fault": None, "note": "CUDA graph replay"}


def job_eager_small_vit():
    model = Vit(width=384, depth=8, heads=6).to(DEVICE)
    return images_on_device(scaled(64, 2), 128), classifier_step(model, fused=False), {"fault": "launch_bound", "note": "the same model as graph_healthy, eager"}


def job_inference():
    model = Vit(width=512, depth=12, heads=8).to(DEVICE).eval()
    images, _ = images_on_device(scaled(32, 2), 128)()

    @torch.inference_mode()
    def step():
        with torch.autocast(DEVICE, torch.bfloat16):
            return model(images)

    return lambda: (), step, {"fault": None, "note": "inference, no profiler steps", "no_steps": True}
