"""Asks HolisticTraceAnalysis (runs in its own environment) for the straggler among FILE..., one per rank; prints JSON."""

import json
import logging
import os
import sys

logging.disable(logging.CRITICAL)

from hta.trace_analysis import TraceAnalysis  # noqa: E402

files = {rank: os.path.abspath(path) for rank, path in enumerate(sys.argv[1:])}
try:
    analysis = TraceAnalysis(trace_files=files, trace_dir=os.path.dirname(files[0]))
    answer = {"ranks": [int(rank) for rank in analysis.get_potential_stragglers(num_candidates=1)]}
except Exception as error:  # noqa: BLE001 - whatever it fails with is its answer
    answer = {"failed": f"{type(error).__name__}: {error}"[:160]}
print(json.dumps(answer))
