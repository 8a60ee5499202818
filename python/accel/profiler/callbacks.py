"""on_step and on_finding: what others do while the job runs, on a thread of its own behind a bounded queue."""

import queue
import threading

MOST = 256


class Callbacks:
    def __init__(self):
        self._step_callbacks = []
        self._finding_callbacks = []
        self._queue = None
        self.dropped = 0  # events, because the callbacks were too slow

    def on_step(self, callback) -> None:
        self._step_callbacks.append(callback)

    def on_finding(self, callback) -> None:
        self._finding_callbacks.append(callback)

    @property
    def wants_steps(self) -> bool:
        return bool(self._step_callbacks)

    @property
    def wants_findings(self) -> bool:
        return bool(self._finding_callbacks)

    def step(self, step: int) -> None:
        if self._step_callbacks:
            self._put(self._step_callbacks, step)

    def finding(self, finding) -> None:
        self._put(self._finding_callbacks, finding)

    def _put(self, callbacks, event) -> None:
        if self._queue is None:
            self._queue = queue.Queue(MOST)
            threading.Thread(target=self._run, name="accel-callbacks", daemon=True).start()
        try:
            self._queue.put_nowait((tuple(callbacks), event))
        except queue.Full:
            self.dropped += 1

    def _run(self) -> None:
        while True:
            callbacks, event = self._queue.get()
            for callback in callbacks:
                try:
                    callback(event)
                except Exception:
                    self.dropped += 1
