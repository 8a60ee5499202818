"""TensorBoard: TensorBoardScalars(SummaryWriter()), after AutoProfiler.enable().

Writes accel/step_time_ms, accel/dataloader_wait_ratio, accel/throughput and accel/loss (where a rule or a window asks for it), on the
callbacks' own thread. With findings=True each window is analysed while the job runs, and what it found is text under accel/findings.
Any writer with add_scalar(tag, value, step) and add_text(tag, text, step) will do."""

import math

from accel.profiler.auto_profiler import AutoProfiler


class TensorBoardScalars:
    def __init__(self, writer, every: int = 10, findings: bool = False):
        self._writer, self._every, self._steps = writer, max(1, every), AutoProfiler._need_session().steps
        self._at = 0
        AutoProfiler.on_step(self._write)
        if findings:
            AutoProfiler.on_finding(self._tell)

    def _write(self, step: int) -> None:
        self._at = step
        figures = self._steps.latest
        if figures is None or step % self._every:
            return
        for name, value in figures.items():
            if not math.isnan(value):
                self._writer.add_scalar(f"accel/{name}", value, step)

    def _tell(self, finding: dict) -> None:
        action = (finding.get("action") or {}).get("title", "")
        self._writer.add_text("accel/findings", f"**{finding['title']}**  \n{action}", self._at)
