"""Which steps a window keeps."""

from dataclasses import dataclass

DETAILS = ("", "memory", "stacks")


@dataclass(frozen=True)
class Schedule:
    """schedule(wait, warmup, active, repeat): steps to wait, to record and throw away, to keep, and how often.

    level 1 records scopes (module calls, loading, backward, your own), level 2 also every op with shapes and what ran
    on a device, by driving torch.profiler. steady_wait: wait up to so many steps more for steady step times.
    detail, at level 2: "memory" records allocations too, "stacks" Python frames with file and line; each makes the host slower.
    """

    wait: int = 0
    warmup: int = 1
    active: int = 5
    repeat: int = 1
    level: int = 2
    steady_wait: int = 20
    detail: str = ""

    def __post_init__(self):
        if self.active < 1 or self.repeat < 1 or self.wait < 0 or self.warmup < 0 or self.steady_wait < 0:
            raise ValueError("a schedule keeps at least one step (active), once (repeat); the others are not negative")
        if self.level not in (1, 2):
            raise ValueError("level is 1 (scopes) or 2 (scopes and ops)")
        if self.detail not in DETAILS or (self.detail and self.level < 2):
            raise ValueError('detail is "memory" or "stacks", at level 2')


def schedule(*, wait: int = 0, warmup: int = 1, active: int = 5, repeat: int = 1, level: int = 2, steady_wait: int = 0,
             detail: str = "") -> Schedule:
    """A Schedule; without steady_wait exactly these steps are taken, as torch.profiler.schedule does."""
    return Schedule(wait, warmup, active, repeat, level, steady_wait, detail)
