"""All ranks begin a window at the same step, agreed through the job's own store: no collective is added, and nothing waits in
the training thread.

Attempts have numbers. The first rank that asks for attempt n leads it: it writes the plan, every rank's listener answers with the
step it is at, and when all have answered within the time limit the leader names a step that all of them still have before them.
When a rank does not answer, the leader says so to all, nothing is recorded, and each rank notes who was missing. A leader
that is gone is given up after the same limit.
"""

import json
import math
import sys
import threading
import time

POLL_S = 0.2
WARMUP = 1


class JobStore:
    def __init__(self, session, store, rank: int, world_size: int):
        self._session, self._store, self._rank, self._world_size = session, store, rank, world_size
        self._attempt = 1  # the next one
        self._lock = threading.Lock()
        self._led = set()  # attempts that this rank's own recorder has asked for
        self._ends = threading.Event()
        self._thread = None

    @staticmethod
    def of_job(session) -> "JobStore | None":
        """The store of torch.distributed, through a connection of its own where torch can make one."""
        distributed = sys.modules.get("torch.distributed")
        if distributed is None or not distributed.is_available() or not distributed.is_initialized():
            return None
        world_size = distributed.get_world_size()
        if world_size < 2:
            return None
        store = distributed.distributed_c10d._get_default_store()
        try:
            store = store.clone()
        except Exception:
            pass  # an older torch: the connection is shared, each call is short
        return JobStore(session, distributed.PrefixStore("accel-profiler", store), distributed.get_rank(), world_size)

    def listen(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._listen, name="accel-agreement", daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._ends.set()
        if self._thread is not None:
            self._thread.join(2.0)  # it must not be inside a call of the store when the interpreter ends

    # ---- the rank whose rule has become true ----

    def agree(self, steps: int, level: int, limit_s: float) -> int:
        """The first step that all ranks keep, or 0. Waits for up to limit_s; never called by the training thread."""
        with self._lock:
            attempt = self._attempt
            self._led.add(attempt)
        try:
            if self._store.add(f"{attempt}/leader", 1) != 1:
                return self._wait_for_go(attempt, limit_s)
            plan = {"steps": steps, "level": level, "limit_s": limit_s}
            self._store.set(f"{attempt}/plan", json.dumps(plan))
            self._store.set(f"{attempt}/at/{self._rank}", str(self._session.steps.index))
            missing = self._wait_for_answers(attempt, limit_s * 0.8)
            if missing:
                self._store.set(f"{attempt}/go", json.dumps({"step": 0, "missing": missing}))
                self._note_missing(missing)
                return 0
            at = max(int(self._store.get(f"{attempt}/at/{rank}")) for rank in range(self._world_size))
            step = at + self._lead()
            self._store.set(f"{attempt}/go", json.dumps({"step": step}))
            return step
        except Exception as error:
            self._session.note(f"the ranks did not agree on a step: {type(error).__name__}: {error}")
            return 0
        finally:
            self._decided(attempt)

    def _lead(self) -> int:
        """Steps that pass until the last rank has heard of it."""
        step_s = max(1e-4, self._session.steps.usual_s())
        return WARMUP + 2 + math.ceil(3 * POLL_S / step_s)

    def _wait_for_answers(self, attempt: int, limit_s: float) -> list[int]:
        ends = time.monotonic() + limit_s
        missing = list(range(self._world_size))
        while missing:
            missing = [rank for rank in missing if not self._store.check([f"{attempt}/at/{rank}"])]
            if time.monotonic() > ends:
                return missing
            if missing:
                time.sleep(POLL_S / 4)
        return []

    # ---- the others ----

    def _listen(self) -> None:
        while not self._ends.wait(POLL_S):
            with self._lock:
                attempt = self._attempt
                ours = attempt in self._led
            try:
                if ours or not self._store.check([f"{attempt}/plan"]):
                    continue
                plan = json.loads(self._store.get(f"{attempt}/plan"))
                self._store.set(f"{attempt}/at/{self._rank}", str(self._session.steps.index))
                step = self._wait_for_go(attempt, plan["limit_s"])
                if step:
                    self._session.capture_from(step, plan["steps"], plan["level"])
                self._decided(attempt)
            except Exception as error:
                self._session.note(f"the job's store does not answer, rules with @global record nothing: {error}")
                return

    def _wait_for_go(self, attempt: int, limit_s: float) -> int:
        ends = time.monotonic() + limit_s
        answered = False
        while time.monotonic() < ends and not self._ends.is_set():
            if not answered and self._store.check([f"{attempt}/plan"]):
                self._store.set(f"{attempt}/at/{self._rank}", str(self._session.steps.index))
                answered = True
            if self._store.check([f"{attempt}/go"]):
                go = json.loads(self._store.get(f"{attempt}/go"))
                if go.get("missing"):
                    self._note_missing(go["missing"])
                return go["step"]
            time.sleep(POLL_S / 4)
        self._session.note("the ranks did not agree on a step: the rank that asked did not name one in time")
        return 0

    def _decided(self, attempt: int) -> None:
        with self._lock:
            self._attempt = max(self._attempt, attempt + 1)

    def _note_missing(self, missing: list[int]) -> None:
        ranks = ", ".join(map(str, missing))
        self._session.note(f"the ranks did not agree on a step, nothing was recorded: no answer from rank {ranks}")
