"""The Perfetto file, read with the schema that Perfetto publishes (PyPI perfetto), says what report.json says."""

import collections
import gzip
import json
import subprocess
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = PROJECT / "build/accel-profiler"
GOLDEN = PROJECT / "tests/golden/pytorch-2.11_h200"


class Decoded:
    """Slices by track, as trace_processor makes them: sorted by time, an end closes what was opened last on its track."""

    def __init__(self, path: Path):
        trace = Trace()
        trace.ParseFromString(gzip.open(path).read())
        assert not unknown_fields(trace), "fields that the published format does not have"
        self.tracks, self.slices, self.samples = {}, collections.defaultdict(list), collections.Counter()
        self.flows, names, categories, opened = collections.defaultdict(list), {}, {}, collections.defaultdict(list)
        events = []
        for packet in trace.packet:
            assert packet.trusted_packet_sequence_id
            names.update({entry.iid: entry.name for entry in packet.interned_data.event_names})
            categories.update({entry.iid: entry.name for entry in packet.interned_data.event_categories})
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("track_event"):
                assert packet.track_event.track_uuid in self.tracks, "a track stands before its events"
                events.append((packet.timestamp, packet.track_event))
        for at, event in sorted(events, key=lambda pair: pair[0]):
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                slice = {"name": names[event.name_iid], "category": categories[event.category_iids[0]], "start": at, "track": event.track_uuid}
                opened[event.track_uuid].append(slice)
                for flow in event.flow_ids:
                    self.flows[flow].append(slice)
            elif event.type == TrackEvent.TYPE_SLICE_END:
                slice = opened[event.track_uuid].pop()
                slice["end"] = at
                self.slices[event.track_uuid].append(slice)
            else:
                self.samples[event.track_uuid] += 1
        assert not any(opened.values())

    def of_category(self, category: str) -> list[dict]:
        return [slice for slices in self.slices.values() for slice in slices if slice["category"] == category]


def unknown_fields(message) -> bool:
    from google.protobuf.unknown_fields import UnknownFieldSet
    return len(UnknownFieldSet(message)) > 0 or any(
        unknown_fields(value) for field, values in message.ListFields() if field.type == field.TYPE_MESSAGE
        for value in (values if not hasattr(values, "ListFields") else [values]))


def analyze(capture: Path, out: Path) -> tuple[dict, Decoded]:
    subprocess.run([PROGRAM, "analyze", capture, "-o", out, "--full", "--format", "json,perfetto"], check=True, capture_output=True)
    return json.loads((out / "report.json").read_text()), Decoded(out / "trace.perfetto")


@pytest.mark.parametrize("name", ["launch_bound.before", "fsdp2.rank0"])
def test_the_file_says_what_the_report_says(name, tmp_path):
    report, decoded = analyze(GOLDEN / f"{name}.json.gz", tmp_path)
    kernels = decoded.of_category("kernel")
    assert len(kernels) == sum(kernel["count"] for kernel in report["kernels"])
    assert sum(slice["end"] - slice["start"] for slice in kernels) == pytest.approx(sum(kernel["total_ms"] for kernel in report["kernels"]) * 1e6)
    steps = decoded.of_category("step")
    assert [f"step {step['index']}" for step in report["steps"]] == [slice["name"] for slice in steps]
    assert len({slice["name"] for slice in decoded.of_category("idle")}) > 1
    for slices in decoded.flows.values():
        assert len(slices) == 2
        launch, work = sorted(slices, key=lambda slice: slice["category"] not in ("runtime call", "driver call"))
        assert launch["category"] in ("runtime call", "driver call") and work["category"] in ("kernel", "copy", "set")
    assert len(decoded.flows) >= 0.99 * len(kernels)


def test_every_track_has_a_place_and_one_process_stands_above(tmp_path):
    _, decoded = analyze(GOLDEN / "fsdp2.rank0.json.gz", tmp_path)
    roots = [track for track in decoded.tracks.values() if not track.HasField("parent_uuid")]
    assert [root.name for root in roots] == ["rank 0"]
    assert all(track.parent_uuid in decoded.tracks for track in decoded.tracks.values() if track.HasField("parent_uuid"))
    threads = [track.thread for track in decoded.tracks.values() if track.HasField("thread")]
    assert threads and all(thread.pid == roots[0].process.pid and thread.tid > 0 for thread in threads)


def test_ids_that_the_format_cannot_hold_make_no_thread(tmp_path):
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7168000000, "tid": tid, "ts": 10, "dur": 5} for tid in (0, 139627874611776, "main")]
    (tmp_path / "wide.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    _, decoded = analyze(tmp_path / "wide.json", tmp_path / "out")
    assert len([track for track in decoded.tracks.values() if track.name.startswith("thread ")]) == 3
    assert not any(track.HasField("thread") or track.HasField("process") for track in decoded.tracks.values())
    assert len(decoded.of_category("op")) == 3


@pytest.mark.parametrize("name", ["launch_bound.before", "fsdp2.rank0"])
def test_chrome_json_gives_the_same_report(name, tmp_path):
    capture = GOLDEN / f"{name}.json.gz"
    reports = []
    for trace in (capture, tmp_path / "again.json.gz"):
        if trace != capture:
            subprocess.run([PROGRAM, "convert", capture, trace, "--quiet"], check=True)
        out = tmp_path / trace.name.split(".")[0]
        subprocess.run([PROGRAM, "analyze", trace, "-o", out, "--full", "--format", "json"], check=True, capture_output=True)
        report = json.loads((out / "report.json").read_text())
        report["critical_path"].sort(key=lambda part: (-part["ms"], part["name"]))  # equal parts stand in the order of the file
        reports.append({key: value for key, value in report.items() if key not in ("inputs", "notes")})
    assert reports[0] == reports[1]


def test_ranks_of_a_job_stand_on_one_axis_and_their_collectives_are_joined(tmp_path):
    ranks = sorted((PROJECT.parent / "shared/traces/h200/ddp").glob("ddp_straggler.rank*.json.gz"))
    if not ranks:
        pytest.skip("no shared captures here")
    subprocess.run([PROGRAM, "fuse", *ranks, "-o", tmp_path / "fused.perfetto"], check=True, capture_output=True)
    subprocess.run([PROGRAM, "fuse", *ranks, "-o", tmp_path / "job", "--quiet", "--full"], check=True)
    decoded = Decoded(tmp_path / "fused.perfetto")
    roots = {track.uuid: track.name.split()[1] for track in decoded.tracks.values() if not track.HasField("parent_uuid")}
    assert sorted(roots.values()) == ["0", "1", "2", "3"]
    shared = [slices for slices in decoded.flows.values() if len({decoded.tracks[slice["track"]].parent_uuid for slice in slices}) > 1]
    collectives = json.loads((tmp_path / "job/report.json").read_text())["communication"]["collectives"]
    assert len(shared) == len(collectives) > 0
    last = [roots[decoded.tracks[max(slices, key=lambda slice: slice["start"])["track"]].parent_uuid] for slices in shared]
    assert sorted(last) == sorted(str(entry["last_rank"]) for entry in collectives)
    for slices in shared:  # nobody leaves before the last arrives, but for the stated error of the clocks
        assert min(slice["end"] for slice in slices) > max(slice["start"] for slice in slices) - 2_000_000
