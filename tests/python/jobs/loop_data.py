"""Data and settings of the training loops that know nothing of any profiler: NAME=VALUE on the command line.

slow=MS plants so much work in each sample; losses=FILE keeps the loss of every micro batch, exactly; steps=N optimizer steps."""

import json
import sys
import time

import torch
from torch.utils.data import Dataset

settings = {"slow": "0", "losses": "", "steps": "60", "workers": "0"}
settings.update(word.split("=", 1) for word in sys.argv[1:])
slow_s, steps, workers = float(settings["slow"]) / 1000, int(settings["steps"]), int(settings["workers"])
BATCH, ACCUMULATION, EVALUATE_EVERY, EVALUATION_BATCHES = 4, 2, 10, 3


def work(seconds: float) -> None:
    """Python work of so many seconds, as decoding an image is."""
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        sum(range(200))


class Tokens(Dataset):
    """Sequences of 32 numbers and their labels; the same for every run."""

    def __init__(self, samples: int, slow_s: float = slow_s):
        self.samples, self.slow_s = samples, slow_s

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        tokens = torch.randint(0, 100, (32,), generator=generator)
        if self.slow_s:
            work(self.slow_s)  # the planted line
        return {"input_ids": tokens, "labels": tokens[0] % 5}


def training_data() -> Tokens:
    return Tokens(steps * BATCH * ACCUMULATION)


def evaluation_data() -> Tokens:
    return Tokens(BATCH * EVALUATION_BATCHES, slow_s=0)


def small_bert():
    """BERT of the transformers package with weights made on the spot."""
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    return BertForSequenceClassification(BertConfig(vocab_size=100, hidden_size=64, num_hidden_layers=3, num_attention_heads=4,
                                                    intermediate_size=128, max_position_embeddings=32, num_labels=5))


def keep(losses: list[float]) -> None:
    if settings["losses"]:
        with open(settings["losses"], "w") as file:
            json.dump([float(loss).hex() for loss in losses], file)
