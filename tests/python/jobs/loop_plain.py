"""A training loop as people write it: gradients of two batches added, an evaluation now and then."""

import torch
from loop_data import ACCUMULATION, BATCH, EVALUATE_EVERY, evaluation_data, keep, small_bert, training_data, workers
from torch.utils.data import DataLoader

torch.set_num_threads(1)
model = small_bert()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 20)
evaluation = DataLoader(evaluation_data(), batch_size=BATCH)
losses = []
for number, batch in enumerate(DataLoader(training_data(), batch_size=BATCH, num_workers=workers), 1):
    loss = model(**batch).loss / ACCUMULATION
    loss.backward()
    losses.append(loss.item())
    if number % ACCUMULATION:
        continue
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
    if number // ACCUMULATION % EVALUATE_EVERY == 0:
        model.eval()
        with torch.no_grad():
            losses.append(sum(model(**batch).loss.item() for batch in evaluation))
        model.train()
keep(losses)
