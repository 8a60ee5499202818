"""ap.analyze: the diagnosis of traces, as Python objects."""

import json
import tempfile
from pathlib import Path

from accel.profiler.engine import run_engine
from accel.profiler.errors import ProfilerError


def analyze(*paths, output: str | None = None, options: tuple[str, ...] = (), background: bool = False) -> "Result":
    """Analyses traces, or folders of traces, of one rank or many. About 1 s for 100 MB.

    output: folder for report.html, report.json and report.md; without it they are not kept.
    background: at the lowest priority, for a process that trains meanwhile.
    Raises ProfilerError with the engine's own words when nothing can be read.
    """
    with tempfile.TemporaryDirectory(prefix="accel-") as own:
        folder = Path(output or own)
        done = run_engine("analyze", *paths, "-o", folder, "--quiet", *options, background=background, capture_output=True, text=True)
        if done.returncode not in (0, 4):
            raise ProfilerError((done.stderr or done.stdout).strip())
        report = folder / "report.json"
        if not report.exists():
            found = sorted(folder.rglob("report.json"))
            if not found:
                raise ProfilerError("the engine wrote no report: " + (done.stderr or done.stdout).strip())
            report = found[0]
        html = report.with_name("report.html")
        return Result(json.loads(report.read_text()), html.read_text() if html.exists() else None)


class Result:
    """A report: `verdict`, `findings`, `plan`, `notes` as in report.json (docs/formats/report.md)."""

    def __init__(self, document: dict, html: str | None):
        self.document, self._html = document, html

    def __getattr__(self, name: str):
        if name in self.__dict__.get("document", {}):
            return self.document[name]
        raise AttributeError(f"the report has no part named {name!r}")

    def to_html(self, path: str) -> None:
        """Writes the page of the report. Raises ProfilerError when the engine was built without it."""
        if self._html is None:
            raise ProfilerError("this engine was built without the report page")
        Path(path).write_text(self._html)

    def __str__(self) -> str:
        lines = [self.document["verdict"]["sentence"]]
        for order, finding in enumerate(self.document["findings"], 1):
            lines.append(f"{order}. {finding['title']}")
            if finding.get("action"):
                lines.append(f"   {finding['action']['title']}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Result: {len(self.document['findings'])} findings>"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(f"<li><b>{escape(f['title'])}</b><br>{escape((f.get('action') or {}).get('title', ''))}</li>"
                       for f in self.document["findings"])
        return f"<p>{escape(self.document['verdict']['sentence'])}</p><ol>{rows}</ol>"
