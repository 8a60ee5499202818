"""Hugging Face: Trainer(callbacks=[AccelProfilerCallback()]).

Steps, loading and loss are found without it; it gives the learning rate and gradient norm that the Trainer logs, and a
window when one is asked for."""

from transformers import TrainerCallback

from accel.profiler.auto_profiler import AutoProfiler
from accel.profiler.schedules import Schedule

LOGGED = ("grad_norm", "learning_rate")


class AccelProfilerCallback(TrainerCallback):
    """window: taken when training starts; None: rules, signals and AutoProfiler.capture() decide."""

    def __init__(self, output: str | None = None, window: Schedule | None = None):
        self._output, self._window = output, window

    def on_train_begin(self, args, state, control, **_others):
        AutoProfiler.enable(self._output)
        if self._window is not None:
            AutoProfiler.capture(self._window)

    def on_log(self, args, state, control, logs=None, **_others):
        for name in LOGGED:
            if isinstance((logs or {}).get(name), (int, float)):
                AutoProfiler.record(name, logs[name])

    def on_train_end(self, args, state, control, **_others):
        AutoProfiler.disable()
