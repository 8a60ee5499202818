"""Lightning: Trainer(callbacks=[AccelProfilerCallback()]).

Steps, loading and loss are found without it; it gives the epoch, and a window when one is asked for by step."""

from accel.profiler.auto_profiler import AutoProfiler
from accel.profiler.schedules import Schedule

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback


class AccelProfilerCallback(Callback):
    """window: taken when training starts; None: rules, signals and AutoProfiler.capture() decide."""

    def __init__(self, output: str | None = None, window: Schedule | None = None):
        self._output, self._window = output, window

    def on_train_start(self, trainer, pl_module):
        AutoProfiler.enable(self._output)
        if self._window is not None:
            AutoProfiler.capture(self._window)

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        AutoProfiler.record("epoch", trainer.current_epoch)

    def on_train_end(self, trainer, pl_module):
        AutoProfiler.disable()
