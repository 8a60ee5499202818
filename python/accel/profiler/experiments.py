"""Experiments of `accel-profiler run --experiment NAME`: they change what the job does, to confirm a cause. Not training.

cached_batch: after some steps as they are, one batch is fed again and again without loading, for as many steps; then loading goes
on. What the step takes less is what loading holds it up by. Losses and weights are worth nothing from there on.
"""

import json
import os
import statistics
import sys

SETTLE, TIMED = 5, 20  # steps left out after each change, steps timed
NAMES = ("cached_batch",)
WARNING = ("accel-profiler: experiment cached_batch: one batch is fed again for {} steps. This is no training: throw the weights and "
           "losses of this run away.")


class CachedBatch:
    """Times steps as they are, then with one batch fed again; its result is a file beside the captures."""

    def __init__(self, session, then):
        self._session, self._then = session, then
        self._batch = None
        self._feeds = False
        self._left_out = SETTLE
        self._times = ([], [])

    def batch_of(self, sampler):
        """The batch that is fed again to the loader that trains, or None: load one."""
        return self._batch if self._feeds and id(sampler) in self._session.steps.training_loaders else None

    def loaded(self, sampler, batch) -> None:
        if self._batch is None and id(sampler) in self._session.steps.training_loaders:
            self._batch = batch

    def step(self, took_s: float | None) -> None:
        if took_s is None or self._then is None:
            return
        if self._left_out > 0:
            self._left_out -= 1
            return
        times = self._times[1 if self._feeds else 0]
        if self._batch is None:
            return
        times.append(took_s * 1e3)
        if len(times) < TIMED:
            return
        self._left_out = SETTLE
        if not self._feeds:
            self._feeds = True
            print(WARNING.format(SETTLE + TIMED), file=sys.stderr)
            return
        self._feeds = False
        then, self._then = self._then, None
        self._write()
        then()

    def _write(self) -> None:
        session = self._session
        os.makedirs(session.output, exist_ok=True)
        rank = session.rank_and_world_size()[0]
        result = {"experiment": "cached_batch", "rank": rank, "pid": os.getpid(),
                  **{name: figures(times) for name, times in zip(("loaded", "fed_again"), self._times)}}
        path = os.path.join(session.output, f"experiment-pid{os.getpid()}.json")
        with open(path + ".part", "w") as file:
            json.dump(result, file)
        os.replace(path + ".part", path)


def figures(times: list[float]) -> dict:
    low, middle, high = statistics.quantiles(times, n=4)
    return {"steps": len(times), "median_ms": middle, "q25_ms": low, "q75_ms": high}


def sentence(result: dict, predicted_ms: float | None) -> str:
    """What the experiment says, beside what the diagnosis of the window says without it."""
    loaded, again = result["loaded"], result["fed_again"]
    what = lambda row: f"{row['median_ms']:.3g} ms (middle half {row['q25_ms']:.3g} to {row['q75_ms']:.3g})"
    rank = "" if result.get("rank") is None else f"rank {result['rank']}: "
    gone = loaded["median_ms"] - again["median_ms"]
    text = f"{rank}a step takes {what(loaded)} with loading and {what(again)} with one batch fed again"
    if again["q75_ms"] >= loaded["q25_ms"]:
        return text + ": loading holds the job up by no more than the noise"
    text += f": loading holds the job up by {gone:.3g} ms a step ({gone / loaded['median_ms']:.0%})"
    return text if predicted_ms is None else text + f"; the diagnosis of the window after it says {predicted_ms:.3g} ms"
