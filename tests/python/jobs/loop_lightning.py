"""The same training by Lightning's Trainer."""

import lightning
import torch
from loop_data import ACCUMULATION, BATCH, EVALUATE_EVERY, evaluation_data, keep, small_bert, steps, training_data, workers
from torch.utils.data import DataLoader

losses = []


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.bert = small_bert()

    def training_step(self, batch, _number):
        loss = self.bert(**batch).loss
        losses.append(loss.item())
        return loss

    def validation_step(self, batch, _number):
        loss = self.bert(**batch).loss
        losses.append(loss.item())
        self.log("validation", loss, prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main():
    torch.set_num_threads(1)
    trainer = lightning.Trainer(max_steps=steps, accumulate_grad_batches=ACCUMULATION, val_check_interval=EVALUATE_EVERY * ACCUMULATION,
                                accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                gradient_clip_val=1.0, num_sanity_val_steps=1)
    trainer.fit(Classifier(), DataLoader(training_data(), batch_size=BATCH, num_workers=workers),
                DataLoader(evaluation_data(), batch_size=BATCH))
    keep(losses)


if __name__ == "__main__":
    main()
