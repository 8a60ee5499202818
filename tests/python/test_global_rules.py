"""Rules with scope="global": four real processes over gloo begin at the same step, and nothing waits for a rank that is gone."""

import json
import os
import socket
import subprocess

from conftest import PROJECT


def steps_of(python, path) -> list[int]:
    told = subprocess.check_output([python, "-c", f"import accel.profiler as ap; print([s['index'] for s in ap.analyze({str(path)!r}).steps if s['complete']])"])
    return json.loads(told)


def test_all_ranks_begin_at_the_same_step_whoever_is_late_stuck_or_gone(torch_python, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [
        subprocess.Popen([torch_python, PROJECT / "tests/python/jobs/four_ranks.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                              "ACCEL_PROFILER_OUTPUT": str(tmp_path), "OMP_NUM_THREADS": "1"})
        for rank in range(4)
    ]
    outputs = [process.communicate(timeout=150) for process in ranks]
    told = [json.loads(out.splitlines()[-1]) for out, err in outputs if out] if all(out for out, _ in outputs) else outputs
    assert len(told) == 4 and isinstance(told[0], dict), told
    assert [process.returncode for process in ranks] == [0, 0, 0, -9]

    assert all(rank["late"] for rank in told), (told, [err[-1500:] for _, err in outputs])
    late = [steps_of(torch_python, tmp_path / rank["late"][0]) for rank in told]
    assert len(late[0]) == 3 and all(steps == late[0] for steps in late), late
    # The rank that takes no step any more is at the same step as the others, once it gets there: nothing waits for it.
    stuck = [steps_of(torch_python, tmp_path / rank["stuck"][-1]) for rank in told if rank["rank"] != 1]
    assert [len(rank["stuck"]) for rank in told] == [2, 1, 2, 2]
    assert len(stuck[0]) == 3 and all(steps == stuck[0] for steps in stuck), stuck
    for rank in told[:3]:
        assert any("no answer from rank 3" in note for note in rank["notes"]), rank["notes"]
        assert len(rank["killed"]) == len(rank["stuck"])  # nothing was recorded
    # No step mark waits for another rank: the time limit of an agreement is seconds.
    assert all(longest < 1000 for rank in told for longest in rank["longest_ms"]), told
