"""Pairs of training jobs: NAME_before has one planted fault, NAME_after is the same job without it.

A pair's function takes `fixed` and returns (fetch, step, planted) as in jobs.py. What helps is known by measurement: the
step times of both truth files.
"""

import gc
import io
import math
import os
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

from jobs import DEVICE, SMALL, ConvNet, Vit, classifier_step, images_on_device, scaled


VOCABULARY = scaled(32000, 500)


class Attention(nn.Module):
    def __init__(self, width, heads, written_out, dtype_mask=True):
        super().__init__()
        self.heads, self.written_out = heads, written_out
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (f(x).view(b, t, self.heads, w // self.heads).transpose(1, 2) for f in (self.q, self.k, self.v))
        if self.written_out:
            scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(w // self.heads)
            future = torch.ones(t, t, device=x.device, dtype=torch.bool).triu(1)
            y = torch.matmul(F.dropout(scores.masked_fill(future, -1e9).softmax(-1), 0.0), v)
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(b, t, w))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(x.dtype) * self.weight


class Decoder(nn.Module):
    """A small language model of the present kind: RMS norm, gated feed-forward, tied to no library."""

    def __init__(self, width=768, depth=6, heads=12, vocabulary=VOCABULARY, hidden=None, written_out=False):
        super().__init__()
        hidden = hidden or 4 * width
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(
            nn.ModuleList([RmsNorm(width), Attention(width, heads, written_out), RmsNorm(width), nn.Linear(width, hidden, bias=False),
                           nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)])
            for _ in range(depth))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for norm1, attention, norm2, up, gate, down in self.layers:
            x = x + attention(norm1(x))
            y = norm2(x)
            x = x + down(F.silu(gate(y)) * up(y))
        return self.head(x)


def lm_step(model, autocast=True, optimizer=None, after=None):
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-4, fused=DEVICE == "cuda")

    def step(tokens):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=autocast):
            logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]).float(), tokens[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        if after is not None:
            after(loss)

    return step


def tokens_on_device(batch, length, vocabulary=VOCABULARY):
    tokens = torch.randint(vocabulary, (batch, length + 1), device=DEVICE)
    return lambda: (tokens,)


def pair_single_precision(fixed):
    """Everything in fp32 on a card with tensor cores."""
    model = Decoder(width=scaled(1024, 64), depth=scaled(6, 1), heads=16).to(DEVICE)
    return tokens_on_device(scaled(8, 1), scaled(1024, 16)), lm_step(model, autocast=fixed), "fp32_matmul"


def pair_odd_hidden(fixed):
    """A feed-forward width and a vocabulary that no tile divides."""
    hidden, vocabulary = (2752, VOCABULARY) if fixed else (2731, VOCABULARY - 1)
    model = Decoder(width=scaled(1024, 64), depth=scaled(6, 1), heads=16, hidden=hidden, vocabulary=vocabulary).to(DEVICE)
    return tokens_on_device(scaled(12, 1), scaled(1024, 16), vocabulary), lm_step(model), "misaligned_gemm"


def pair_written_attention(fixed):
    """Causal attention written out with masked_fill and softmax, at a length where it hurts."""
    model = Decoder(width=scaled(768, 48), depth=scaled(6, 1), heads=12, written_out=not fixed).to(DEVICE)
    return tokens_on_device(scaled(4, 1), scaled(2048, 16)), lm_step(model), "unfused_attention"


def pair_op_on_cpu(fixed):
    """A histogram of the activations taken on the CPU after each block, fed back as a scale."""

    def after_block(x):
        where = x.detach() if fixed else x.detach().float().cpu()
        level = where.float().abs().flatten().sort().values[:: max(1, x.numel() // 64)].mean()
        scale.copy_(level.to(DEVICE))

    scale = torch.zeros((), device=DEVICE)
    model = Vit(width=384, depth=4, heads=6, after_block=after_block).to(DEVICE)
    return images_on_device(scaled(32, 2), 128), classifier_step(model), "cpu_fallback"


def pair_loop_optimizer(fixed):
    """SGD with momentum, one parameter after the other."""
    model = Decoder(width=256, depth=scaled(24, 2), heads=4, vocabulary=4000).to(DEVICE)
    options = {"fused": True} if fixed and DEVICE == "cuda" else {"foreach": False}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, **options)
    return tokens_on_device(scaled(8, 1), scaled(256, 16), 4000), lm_step(model, optimizer=optimizer), "unfused_optimizer"


def pair_small_elementwise(fixed):
    """An activation made of a dozen element-wise kernels."""

    class Written(nn.Module):
        def forward(self, x):
            inner = 0.7978845608 * (x + 0.044715 * x * x * x)
            return 0.5 * x * (1.0 + (torch.exp(inner) - torch.exp(-inner)) / (torch.exp(inner) + torch.exp(-inner)))

    model = Vit(width=512, depth=scaled(8, 1), heads=8).to(DEVICE)
    for block in model.blocks:
        block.mlp[1] = nn.GELU(approximate="tanh") if fixed else Written()
    return images_on_device(scaled(256, 2), 128), classifier_step(model), "fragmented_kernels"


def pair_collector(fixed):
    """A heap full of small cyclic objects, so that Python's collector runs long and often."""
    heap = []

    def after(_loss, _logits):
        for _ in range(scaled(6000, 10)):
            node = {}
            node["self"] = [node]
            heap.append(node)
        del heap[: max(0, len(heap) - scaled(600000, 100))]

    for _ in range(scaled(100, 1)):
        after(None, None)
    gc.enable()
    if fixed:
        gc.freeze()
        gc.disable()
    model = Vit(width=384, depth=scaled(6, 1), heads=6).to(DEVICE)
    return images_on_device(scaled(64, 2), 128), classifier_step(model, after=after), {"fault": "garbage_collection", "profile": {"with_stack": True}}


def pair_saves_often(fixed):
    """The model is written out at every third step."""
    count = [0]
    model = Vit(width=512, depth=scaled(12, 1), heads=8).to(DEVICE)

    def after(_loss, _logits):
        count[0] += 1
        if count[0] % 3 == 0 and not fixed:
            torch.save(model.state_dict(), io.BytesIO())

    return images_on_device(scaled(128, 2), 128), classifier_step(model, after=after), {"fault": "checkpoint_stall", "active": 9}


def pair_changing_sizes(fixed):
    """Images of another size at every step, with the convolution search on."""
    torch.backends.cudnn.benchmark = True
    model = ConvNet(width=64).to(DEVICE)
    count = [0]

    def fetch():
        count[0] += 1
        side = 128 if fixed else 96 + 2 * (count[0] * 37 % 97)
        return torch.randn(scaled(128, 2), 3, side, side, device=DEVICE), torch.randint(10, (scaled(128, 2),), device=DEVICE)

    return fetch, classifier_step(model), "varying_shapes"


def pair_compiles_again(fixed):
    """A compiled function that depends on a Python number which changes at every step."""
    torch._dynamo.config.cache_size_limit = 1000
    model = Vit(width=384, depth=4, heads=6).to(DEVICE)
    count = [0]

    def scaled_model(images, level):
        return model(images) * (1.0 + len(level))

    compiled = torch.compile(scaled_model, backend="aot_eager", dynamic=False)

    def forward(images):
        count[0] += 1
        return compiled(images, "x" * (1 if fixed else count[0]))

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step(images, labels):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(forward(images), labels)
        loss.backward()
        optimizer.step()

    return images_on_device(scaled(64, 2), 128), step, "recompilation"


def pair_python_work(fixed):
    """Labels smoothed sample by sample in Python before every step."""
    model = Vit(width=384, depth=scaled(6, 1), heads=6).to(DEVICE)
    images, labels = images_on_device(scaled(64, 2), 128)()
    rows = [[(i * j) % 97 / 97 for j in range(200)] for i in range(64)]

    def smooth():
        total = 0.0
        for row in rows:
            for value in row:
                total += math.sin(value) * math.exp(-value)
        return total

    def fetch():
        if not fixed:
            smooth()
            smooth()
        return images, labels

    return fetch, classifier_step(model), {"fault": "python_overhead", "profile": {"with_stack": True}}


def pair_channels_first(fixed):
    """A half-precision convolution net in the layout that the tensor cores do not read."""
    model = ConvNet(width=128).to(DEVICE)
    images, labels = images_on_device(scaled(256, 2), 128)()
    if fixed:
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    return lambda: (images, labels), classifier_step(model), "layout_copies"


def pair_masked_rows(fixed):
    """Rows chosen by a boolean mask: the host must wait to learn how many there are."""
    model = Vit(width=512, depth=scaled(8, 1), heads=8).to(DEVICE)
    images, labels = images_on_device(scaled(96, 2), 128)()
    noise = torch.rand(12, images.shape[0], device=DEVICE)

    def after_block(x):
        kept = x[:, 0].detach()
        for row in noise[:3]:
            if fixed:
                torch.where((row > 0.5).unsqueeze(1), kept, torch.zeros_like(kept)).sum(0)
            else:
                kept[row > 0.5].sum(0)

    for_blocks = Vit(width=512, depth=scaled(8, 1), heads=8, after_block=after_block).to(DEVICE)
    del model
    return lambda: (images, labels), classifier_step(for_blocks), "implicit_sync"


def pair_evaluates_inside(fixed):
    """Every fourth step is followed by a validation pass on the host's time."""
    count = [0]
    model = Vit(width=512, depth=scaled(8, 1), heads=8).to(DEVICE)
    images, labels = images_on_device(scaled(192, 2), 128)()

    def after(_loss, _logits):
        count[0] += 1
        if count[0] % 4 == 0 and not fixed:
            with torch.no_grad():
                right = sum((model(images).argmax(1) == labels).sum().item() for _ in range(4))
            time.sleep(0.02 + 0 * right)

    return lambda: (images, labels), classifier_step(model, after=after), {"fault": "step_outlier", "active": 9}


def pair_crowded_cores(fixed):
    """The process shares one core with three busy ones."""
    if not fixed and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {0})
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    else:
        busy = []
    model = Vit(width=384, depth=8, heads=6).to(DEVICE)
    return images_on_device(scaled(32, 2), 128), classifier_step(model), {"fault": "cpu_contention", "stop": lambda: [p.kill() for p in busy]}


def pair_keeps_graphs(fixed):
    """The running loss keeps every step's graph alive."""
    model = Vit(width=384, depth=scaled(6, 1), heads=6).to(DEVICE)
    total = [0.0]

    def after(loss, _logits):
        total[0] = total[0] + (loss.detach() if fixed else loss)

    return images_on_device(scaled(64, 2), 128), classifier_step(model, after=after), {"fault": "memory_growth", "profile": {"profile_memory": True}, "active": 8, "steps": 20}


def pair_zeroes_twice(fixed):
    """Gradients are zeroed by kernels, and twice."""
    model = Decoder(width=256, depth=scaled(16, 2), heads=4, vocabulary=4000).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=DEVICE == "cuda")

    def step(tokens):
        if fixed:
            optimizer.zero_grad(set_to_none=True)
        else:
            optimizer.zero_grad(set_to_none=False)
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter.grad.zero_()
        logits = model(tokens[:, :-1])
        F.cross_entropy(logits.reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1)).backward()
        optimizer.step()

    return tokens_on_device(scaled(4, 1), scaled(128, 16), 4000), step, "redundant_zero_grad"


PAIRS = {name[5:]: function for name, function in list(globals().items()) if name.startswith("pair_")}


def job_of(name):
    """(fetch, step, planted) of NAME_before or NAME_after."""
    pair, _, side = name.rpartition("_")
    fixed = side == "after"
    fetch, step, planted = PAIRS[pair](fixed)
    planted = planted if isinstance(planted, dict) else {"fault": planted}
    what = PAIRS[pair].__doc__.strip()
    return fetch, step, {**planted, "pair": pair, "fault": None if fixed else planted["fault"], "where": what, "removed": planted["fault"] if fixed else None}
