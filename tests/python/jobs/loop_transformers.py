"""The same training by the Trainer of Hugging Face transformers."""

import sys
import tempfile

import torch
from loop_data import ACCUMULATION, BATCH, EVALUATE_EVERY, evaluation_data, keep, small_bert, steps, training_data, workers
from transformers import Trainer, TrainingArguments


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=small_bert(), train_dataset=training_data(), eval_dataset=evaluation_data(),
            args=TrainingArguments(output_dir=folder, max_steps=steps, per_device_train_batch_size=BATCH, per_device_eval_batch_size=BATCH,
                                   gradient_accumulation_steps=ACCUMULATION, eval_strategy="steps", eval_steps=EVALUATE_EVERY,
                                   logging_steps=1, save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True, seed=0,
                                   dataloader_num_workers=workers))
        trainer.train()
        keep([line[key] for line in trainer.state.log_history for key in ("loss", "eval_loss") if key in line])


if __name__ == "__main__":
    sys.exit(main())
