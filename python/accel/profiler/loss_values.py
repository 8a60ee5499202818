"""The loss of each step, without user code and without waiting for a device.

The scalar that backward() starts from is copied into pinned memory, behind the work that makes it, and read when the copy is
done: on a GPU the value comes some steps late, and is given to the step that reads it. On a processor it is there at
once. Scaled losses are given as they were before GradScaler; several backward calls of one step are summed.
"""

import ctypes
import math
from collections import deque

RING = 64
LATEST = 10  # steps; an older value is dropped


class Losses:
    def __init__(self, session):
        self._session = session
        self._unscaled = None  # (scaled tensor, unscaled tensor)
        self._sum = math.nan
        self._pending = deque()  # (step, slot, event)
        self._ring = None
        self._next = 0

    def scaled(self, unscaled, scaled) -> None:
        self._unscaled = (scaled, unscaled)

    def take(self, outputs) -> None:
        if not isinstance(outputs, (tuple, list)) or len(outputs) != 1:
            return
        tensor = outputs[0]
        pair, self._unscaled = self._unscaled, None
        if pair is not None and pair[0] is tensor:
            tensor = pair[1]
        if getattr(tensor, "numel", lambda: 0)() != 1 or not tensor.is_floating_point():
            return
        kind = tensor.device.type
        if kind == "cpu":
            self._add(_value(tensor))
        elif kind == "cuda" and not self._session.ops.running:  # the copy would be in the recording
            self._take_from_gpu(tensor)

    def _add(self, value: float) -> None:
        self._sum = value if math.isnan(self._sum) else self._sum + value

    def _take_from_gpu(self, tensor) -> None:
        import torch

        if torch.cuda.is_current_stream_capturing():
            return
        if self._ring is None:
            self._ring = torch.empty(RING, dtype=torch.float32, pin_memory=True)
            self._events = [torch.cuda.Event() for _ in range(RING)]
        if len(self._pending) >= RING - 1:
            self._pending.popleft()
        slot = self._next = (self._next + 1) % RING
        self._ring[slot].copy_(tensor.detach().reshape(()), non_blocking=True)
        self._events[slot].record()
        self._pending.append((self._session.steps.index, slot))

    def newest(self, step: int) -> float:
        """The loss known by the end of this step; NaN: none. Never waits."""
        value, self._sum = self._sum, math.nan
        if not self._pending:
            return value
        import torch

        if torch.cuda.is_current_stream_capturing():
            return value  # to ask an event would end the capture
        ready = {}
        while self._pending and self._events[self._pending[0][1]].query():
            of_step, slot = self._pending.popleft()
            ready[of_step] = ready.get(of_step, 0.0) + float(self._ring[slot])
        while self._pending and self._pending[0][0] < step - LATEST:
            self._pending.popleft()
        return ready[max(ready)] if ready else value


def _value(tensor) -> float:
    """The number in a tensor of one element; without an op where possible, since ops are recorded."""
    size = tensor.element_size()
    if size == 4 and tensor.is_contiguous():
        return ctypes.c_float.from_address(tensor.data_ptr()).value
    if size == 8 and tensor.is_contiguous():
        return ctypes.c_double.from_address(tensor.data_ptr()).value
    return float(tensor.detach())
