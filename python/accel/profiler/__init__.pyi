from accel.profiler.auto_profiler import AutoProfiler as AutoProfiler
from accel.profiler.errors import ProfilerError as ProfilerError
from accel.profiler.result import Result as Result
from accel.profiler.result import analyze as analyze
from accel.profiler.schedules import Schedule as Schedule
from accel.profiler.schedules import schedule as schedule
from accel.profiler.scopes import scope as scope
from accel.profiler.staged_result import join_stages as join_stages
from accel.profiler.trigger_rule import RuleError as RuleError
from accel.profiler.trigger_rule import TriggerRule as TriggerRule

__version__: str
__all__: list[str]
