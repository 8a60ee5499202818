"""Rules that wake the recorder. The language: docs/formats/trigger.md."""

from dataclasses import dataclass

from accel.profiler.errors import ProfilerError, recorder


class RuleError(ProfilerError, ValueError):
    """A rule that does not compile: `column` (from 1), `message`, `remedy`."""

    def __init__(self, text: str, column: int, message: str, remedy: str):
        super().__init__(f"{text}\n{' ' * max(0, column - 1)}^ column {column}: {message}; {remedy}")
        self.column, self.message, self.remedy = column, message, remedy


@dataclass(frozen=True)
class TriggerRule:
    """A condition over the numbers of the job, and what happens when it is true. In force as soon as it is made (or as
    soon as the profiler is enabled).

    condition  "loss_delta < 0.001 and loss_stable_count >= 3"; a name that has no value yet is unknown, never 0
    action     "capture_next_steps(5)", "capture_memory_stack()", "dump_stacks()", "mark('text')", "notify('file:NAME')"
    scope      "per_rank", or "global": all ranks begin at the same step, agreed through the job's own store
    Raises RuleError at once when it does not compile.
    """

    condition: str
    action: str = "capture_next_steps(5)"
    scope: str = "per_rank"
    hold: int = 1
    cooldown: int = 60
    per_hour: int = 4

    def __post_init__(self):
        if self.scope not in ("per_rank", "global"):
            raise ValueError('scope is "per_rank" or "global"')
        from accel.profiler.auto_profiler import AutoProfiler

        AutoProfiler.add_rule(self.text)

    @property
    def text(self) -> str:
        """The rule as one line of the trigger language."""
        limits = f"hold={self.hold} cooldown={self.cooldown} per_hour={self.per_hour}"
        return f"{self.condition} => {self.action} @{self.scope} {limits}"


def add_to_recorder(text: str) -> None:
    status, column, message, remedy = recorder().rule_add(text)
    if status == 3:
        raise RuleError(text, column, message, remedy)
    if status == 4:
        raise ProfilerError("no room for another rule (32 at most); take some out with AutoProfiler.clear_rules()")
