"""What rules ask for beyond captures and marks: stacks, memory state, agreement of all ranks. Two threads, asleep in the recorder
until a rule asks; they exist while there are rules."""

import faulthandler
import json
import os
import re
import sys
import threading
import time

MEMORY_STACK, DUMP_STACKS, NOTIFY = 1, 2, 3
WAIT_S = 1.0  # a round: how long a thread goes on after stop()


class Actions:
    def __init__(self, session):
        self._session = session
        self._threads = []
        self._ends = threading.Event()

    def start(self) -> None:
        if not self._threads:
            self._ends.clear()
            self._session.recorder.close_waits(False)
            self._threads = [threading.Thread(target=work, name=name, daemon=True)
                             for name, work in (("accel-actions", self._act), ("accel-agreements", self._agree))]
            for thread in self._threads:
                thread.start()

    def watch(self, limit_s: float) -> None:
        """Writes the stacks of all threads once for each step that takes longer."""

        def look():
            dumped_for = -1
            while not self._ends.wait(min(1.0, limit_s / 4)):
                steps = self._session.steps
                if steps is None or steps.index == dumped_for or steps.since_mark_s() < limit_s:
                    continue
                dumped_for = steps.index
                try:
                    self._session.note(f"step {steps.index} takes longer than {limit_s:g} s: {self.dump_stacks()}")
                except OSError:
                    pass  # a full disk

        threading.Thread(target=look, name="accel-step-limit", daemon=True).start()

    def stop(self) -> None:
        """Ends the threads: one that still waits in the recorder when the interpreter ends would take the process down."""
        self._ends.set()
        self._session.recorder.close_waits(True)
        for thread in self._threads:
            thread.join(2.0)
        self._threads = []

    def _until_end(self, one_round) -> None:
        while not self._ends.is_set():
            try:
                one_round()
            except Exception as error:
                self._session.note(f"an action of a rule failed: {type(error).__name__}: {error}")
                self._ends.wait(1.0)

    def _act(self) -> None:
        self._until_end(self._one_action)

    def _agree(self) -> None:
        self._until_end(self._one_agreement)

    def _one_action(self) -> None:
        session = self._session
        request = session.recorder.wait_for_action(WAIT_S)
        if request is None:
            return
        kind, text, _everywhere = request
        if kind == DUMP_STACKS:
            self.dump_stacks()
        elif kind == MEMORY_STACK:
            self.dump_memory()
        elif kind == NOTIFY:
            session.recorder.notify(text, f"a rule became true at step {session.steps.index if session.steps else '?'}")

    def _one_agreement(self) -> None:
        recorder = self._session.recorder
        asked = recorder.wait_for_agreement(WAIT_S)
        if asked is None:
            return
        _proposed, steps, rule, limit_ms = asked
        level = re.search(r"capture_next_steps\(\s*\d+\s*,\s*(\d)", rule)
        store = self._session.job_store
        step = 0 if store is None else store.agree(steps, int(level.group(1)) if level else 2, limit_ms / 1000)
        recorder.answer_agreement(step)

    def _path(self, what: str) -> str:
        os.makedirs(self._session.output, exist_ok=True)
        rank = f"rank{os.environ['RANK']}-" if "RANK" in os.environ else ""
        return os.path.join(self._session.output, f"{rank}pid{os.getpid()}-{what}-{time.strftime('%Y%m%d-%H%M%S')}")

    def dump_stacks(self) -> str:
        """The Python stacks of all threads, into a text file. About 1 ms."""
        path = self._path("stacks") + ".txt"
        with open(path, "w") as file:
            faulthandler.dump_traceback(file, all_threads=True)
        return path

    def dump_memory(self) -> str | None:
        """The allocator's state, with stacks where memory history is on, as JSON: segments and blocks that are alive."""
        torch = sys.modules.get("torch")
        if torch is None or not self._session.uses_cuda():
            self._session.note("capture_memory_stack(): this process uses no GPU")
            return None
        path = self._path("memory") + ".json"
        segments = torch.cuda.memory_snapshot()
        with open(path + ".part", "w") as file:
            json.dump({"segments": segments}, file, default=str)
        os.replace(path + ".part", path)
        return path
