"""Loads FILE with HolisticTraceAnalysis (runs in its own environment) and prints seconds, rows and versions as JSON."""

import json
import logging
import os
import sys
import time
from importlib.metadata import version

logging.disable(logging.CRITICAL)

from hta.trace_analysis import TraceAnalysis  # noqa: E402

path = os.path.abspath(sys.argv[1])
start = time.perf_counter()
analysis = TraceAnalysis(trace_files={0: path}, trace_dir=os.path.dirname(path))
seconds = time.perf_counter() - start
frame = analysis.t.get_trace(0)
symbols = analysis.t.symbol_table.get_sym_table()
categories = {symbols[code]: int(count) for code, count in frame["cat"].value_counts().items()}
print(json.dumps({"seconds": seconds, "rows": len(frame), "categories": categories,
                  "versions": {name: version(name) for name in ("HolisticTraceAnalysis", "pandas", "numpy")}}))
