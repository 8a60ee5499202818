"""capture_staged(): three windows, the lightest first. A file beside the captures says which is which."""

import json
import os

STAGES = (("light", 1, ""), ("shapes", 2, "memory"), ("stacks", 2, "stacks"))
BETWEEN = 3  # steps between two windows: what a window leaves behind is over
BETWEEN_OF_RANKS = 20  # of several ranks, each of which may write for some steps
IDLE, WATCHING = 1, 2


class Stages:
    """Arms each window when the one before is written. At step marks, on the training thread. Ranks of a job, which write at
    different times, keep the same steps: theirs are fixed when the first is asked for."""

    def __init__(self, session, steps: int):
        self._session, self._steps = session, steps
        self._files = {}
        self._next = 0
        self._armed = self._opened = False
        self._wait = 0
        self._first = session.steps.index + BETWEEN if (session.rank_and_world_size()[1] or 1) > 1 else None

    def step(self, step: int, state: int) -> None:
        if state not in (IDLE, WATCHING):
            self._opened = self._armed
            return
        if self._armed:
            if not self._opened:
                return
            self._armed = self._opened = False
            path = self._session.recorder.capture_path()
            if path not in self._files.values():
                self._files[STAGES[self._next][0]] = path
            self._next += 1
            self._wait = BETWEEN
        if self._next == len(STAGES):
            self.close()
        elif self._wait > 0:
            self._wait -= 1
        else:
            self._armed = self._arm(step)

    def _arm(self, step: int) -> bool:
        name, level, detail = STAGES[self._next]
        start = 0 if self._first is None else self._first + self._next * (self._steps + BETWEEN_OF_RANKS)
        if start and step + 2 > start:
            self._session.note(f"capture_staged: the window '{name}' is left out: the one before took longer to write than it had")
            self._next += 1
            return False
        armed = self._session.recorder.capture(0, 1, self._steps, 1, level, 0, start) == 0
        if armed:
            self._session.window_detail = detail
        return armed

    def close(self) -> None:
        """Writes what there is; a stage that did not come to its end is missing in it."""
        self._session.stages = None
        files = {name: os.path.basename(path) for name, path in self._files.items() if path}
        if not files:
            return
        path = os.path.join(self._session.output, f"staged-pid{os.getpid()}.json")
        with open(path + ".part", "w") as file:
            json.dump({"stages": files, "steps": self._steps}, file)
        os.replace(path + ".part", path)
