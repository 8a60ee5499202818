"""Counts the steps of the training loop, and gathers what each one says: loss, samples, time waiting for data.

A loader that gives batches from which no backward follows, between loaders that train, is an evaluation: from its first batch
to the next batch of another loader it is one step of its own, however many batches it takes. Which loaders train is known by
their sampler, which lives as long as the loader does.
"""

import math
import time

from accel.profiler.loss_values import Losses

LOOKS_LIKE_INFERENCE = 32  # batches without any step of the optimizer that is there: a check before training takes fewer


class StepTracker:
    def __init__(self, session):
        self._session = session
        self._recorder = session.recorder
        self._counts = {}  # optimizer -> steps
        self._most = 0
        self._due = False
        self._explicit = False
        self._trains = False  # there is an optimizer
        self._worked = False  # a backward or an optimizer since the mark
        self._called = False  # a module since the batch
        self._batches = 0  # since the mark
        self._drawn = set()  # loaders, by the address of their sampler, since the mark
        self.training_loaders = set()  # those that a backward has followed
        self._wait_ns = 0
        self._samples = 0
        self._epoch = -1
        self.gc_ns = 0
        self.index = 0
        self.latest = None  # figures of the step before the mark, while a callback asks for steps
        self.losses = Losses(session)
        self._numbers = {}
        self._marked_at = None
        self._usual_s = 0.0
        self._recorder.set_on_due(self.module_called)

    # ---- what the hooks say ----

    def count_of(self, optimizer: int) -> int:
        return self._counts.get(optimizer, 0)

    def optimizer_made(self) -> None:
        self._trains = True

    def optimizer_begins(self) -> None:
        self._worked = self._trains = True
        if self._session.on_first_event is not None:
            self._session.first_event()

    def optimizer_stepped(self, optimizer: int) -> None:
        count = self._counts[optimizer] = self._counts.get(optimizer, 0) + 1
        if count <= self._most:
            return
        self._most = count
        if self._explicit:
            return
        if self._due:  # nothing came between two steps of the optimizer
            self.mark()
        self._due = True
        self._recorder.set_due(True)

    def loader_begins(self, sampler) -> None:
        if self._session.on_first_event is not None:
            self._session.first_event()
        if self._due:
            self.mark()
        elif self._explicit or self._worked or not self._drawn:
            return
        elif not self._trains or self._looks_like_inference():  # each batch is a step
            self.mark()
        elif self._called and id(sampler) not in self._drawn and not self._drawn & self.training_loaders:
            self.mark()  # the evaluation ends

    def loader_ends(self, waited_ns: int, sampler) -> None:
        self._wait_ns += waited_ns
        self._drawn.add(id(sampler))
        self._batches += 1
        if self._trains and not self._worked and not self._due and not self._explicit:
            self._recorder.set_due(True)  # whether a module is called now
        size = getattr(sampler, "batch_size", None)
        if isinstance(size, int):
            self._samples += size

    def _looks_like_inference(self) -> bool:
        if self._most == 0 and self._batches > LOOKS_LIKE_INFERENCE:
            self._trains = False
        return not self._trains

    def module_called(self) -> None:
        """After set_due(True): a module is about to be called."""
        if self._due:
            self.mark()
        else:
            self._called = True

    def backward_begins(self, outputs=(), *_args, **_keywords) -> None:
        if self._due:
            self.mark()
        if not self._worked:
            self._worked = True
            self.training_loaders |= self._drawn
        if self._session.wants_losses:
            self.losses.take(outputs)

    # ---- marks ----

    def mark_explicit(self, loss=None, samples=None, epoch=None) -> None:
        if not self._explicit:
            self._explicit = True
            self._due = False
            self._recorder.set_due(False)
        if epoch is not None:
            self._epoch = int(epoch)
        if samples is not None:
            self._samples = samples
        self.mark(loss)

    def mark(self, loss=None) -> None:
        """The step ends here. Costs about 2 us."""
        self._due = self._worked = self._called = False
        self._drawn.clear()
        self._batches = 0
        self._recorder.set_due(False)
        session = self._session
        if loss is None:
            loss = self.losses.newest(self.index) if session.wants_losses else math.nan
        waited, self._wait_ns = self._wait_ns, 0
        samples, self._samples = self._samples, 0
        if self.gc_ns:
            self._record("python_gc_ms", self.gc_ns * 1e-6)
            self.gc_ns = 0
        now = time.monotonic()
        if self._marked_at is not None:
            took = now - self._marked_at
            self._usual_s = took if self._usual_s == 0 else 0.9 * self._usual_s + 0.1 * took
            if session.callbacks.wants_steps:
                self.latest = {"step_time_ms": took * 1e3, "dataloader_wait_ratio": waited * 1e-9 / took if took > 0 else math.nan,
                               "throughput": samples / took if samples and took > 0 else math.nan, "loss": float(loss)}
        if session.experiment is not None:
            session.experiment.step(None if self._marked_at is None else now - self._marked_at)
        self._marked_at = now
        session.before_step(self.index)
        self._recorder.step(float(loss), float(samples) if samples else math.nan, waited, self._epoch)
        self.index += 1
        session.after_step(self.index - 1)

    def since_mark_s(self) -> float:
        """Seconds since the last step ended; 0 before the first."""
        return 0.0 if self._marked_at is None else time.monotonic() - self._marked_at

    def usual_s(self) -> float:
        """Seconds of a step, lately."""
        return self._usual_s

    def _record(self, name: str, value: float) -> None:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = self._recorder.number_of(name)
        self._recorder.record(number, value)
