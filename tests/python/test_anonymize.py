"""`analyze --anonymize`: nothing that is the owner's is in any report, and the diagnosis is the same."""

import base64
import gzip
import json
import re
import subprocess
import zlib
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = PROJECT / "build/accel-profiler"
GOLDEN = PROJECT / "tests/golden/pytorch-2.11_h200"
SHARED = PROJECT.parent / "shared/traces"
CAPTURES = [
    GOLDEN / "jobs/python_work.json.gz",
    GOLDEN / "launch_bound.before.json.gz",
    GOLDEN / "fsdp2.rank0.json.gz",
    SHARED / "h200/variety/all_options.json.gz",
    SHARED / "h200/pairs/python_heavy.before.json.gz",
    SHARED / "h200/pairs/python_heavy.after.json.gz",
    SHARED / "h200/pairs/cpu_layernorm.before.json.gz",
    SHARED / "h200/pairs/cpu_layernorm.after.json.gz",
    SHARED / "h200/pairs/starved_images.before.json.gz",
    SHARED / "h200/pairs/periodic_sync.before.json.gz",
    SHARED / "h200/ddp/ddp_straggler.rank2.json.gz",
]
LIBRARY = re.compile(r"^(torch|torchvision|numpy|PIL|triton|transformers|<|typing|threading|contextlib|queue|random|os\.py|multiprocessing|"
                     r"selectors|socket|weakref|functools|enum|abc|copy|inspect|json|re/|collections|concurrent|importlib|logging|warnings|"
                     r"tempfile|pickle|codecs|traceback|linecache|ast|dis|runpy|subprocess|signal|string|struct|types|shutil|pathlib|glob|"
                     r"posixpath|genericpath|tokenize|zipfile|heapq|bisect|numbers|fractions|statistics|datetime|gzip|_collections_abc)")
TORCH_MODULE = re.compile(r"^nn\.Module: (Linear|Conv2d|LayerNorm|BatchNorm2d|Sequential|ModuleList|GELU|ReLU|MaxPool2d|AdaptiveAvgPool2d|Embedding|"
                          r"Dropout|CrossEntropyLoss|DistributedDataParallel|LSTMCell|MultiheadAttention|Flatten|Identity)_\d+$")
STAGES = {"forward", "backward", "loss", "optimizer", "zero_grad", "train", "eval", "step", "data", "batch"}
FRAME = re.compile(r"^(.*)\((\d+)\): (.*)$")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]{3,}")


def analyze(capture: Path, out: Path, *options: str) -> str:
    done = subprocess.run([PROGRAM, "analyze", capture, "-o", out, "--full", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def report_of(folder: Path) -> dict:
    return json.loads((folder / "report.json").read_text())


def owned_and_kept(capture: Path) -> tuple[set[str], set[str]]:
    """Words of the user's own frames, modules, ranges and paths; words of everything that stays."""
    with gzip.open(capture) as file:
        trace = json.load(file)
    owned, kept = set(), set()
    for event in trace["traceEvents"]:
        name, category = str(event.get("name", "")), event.get("cat")
        if category == "python_function":
            frame = FRAME.match(name)
            if name.startswith("nn.Module: "):
                (kept if TORCH_MODULE.match(name) else owned).update(IDENTIFIER.findall(name[11:].rpartition("_")[0]))
            elif frame is None or LIBRARY.match(frame[1]) or "site-packages/" in frame[1] or "/lib/python" in frame[1]:
                kept.update(IDENTIFIER.findall(name))
            else:
                owned.update(IDENTIFIER.findall(frame[1].removesuffix(".py")) + IDENTIFIER.findall(frame[3]))
        elif category in ("user_annotation", "gpu_user_annotation"):
            known = re.match(r"ProfilerStep#|Optimizer\.|enumerate\(DataLoader|nccl:|gloo:|DistributedDataParallel\.|FSDP::|Torch-Compiled", name)
            if not known:
                owned.update(IDENTIFIER.findall(name))
            elif name.startswith("FSDP::") and "(" in name:
                owned.update(IDENTIFIER.findall(name.partition("(")[2]))
        elif category in ("cpu_op", "kernel", "cuda_runtime", "cuda_driver"):
            kept.update(IDENTIFIER.findall(name))
    owned.update(IDENTIFIER.findall(str(trace.get("traceName", ""))))
    owned.update(IDENTIFIER.findall(json.dumps(trace.get("distributedInfo", {}).get("hostname", ""))))
    return owned, kept


def everything_in(folder: Path, printed: str) -> str:
    """The bytes of every report, and of every payload packed inside one."""
    text = printed
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        text += path.name
        raw = (gzip.decompress(path.read_bytes()) if path.read_bytes()[:2] == b"\x1f\x8b" else path.read_bytes()).decode(errors="replace")
        text += raw
        for packed in re.findall(r"[A-Za-z0-9+/=]{64,}", raw):
            try:
                data = base64.b64decode(packed + "=" * (-len(packed) % 4))
            except ValueError:
                continue
            text += data.decode(errors="replace")
            for bits in (-15, 15, 31):
                try:
                    text += zlib.decompress(data, bits).decode(errors="replace")
                except zlib.error:
                    continue
    return text


@pytest.fixture(scope="module")
def own_words(tmp_path_factory) -> set[str]:
    """What the program itself says, of a capture that is not one of those tested."""
    out = tmp_path_factory.mktemp("own")
    printed = analyze(GOLDEN / "pageable_h2d.before.json.gz", out)
    listed = subprocess.run([PROGRAM, "list", "rules"], capture_output=True, text=True, check=True).stdout
    return set(IDENTIFIER.findall(everything_in(out, printed + listed)))


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_nothing_of_the_owner_is_in_any_report(capture, tmp_path, own_words):
    if not capture.exists():
        pytest.skip("no shared captures here")
    owned, kept = owned_and_kept(capture)
    secret = owned - kept - own_words - STAGES
    printed = analyze(capture, tmp_path / "out", "--anonymize", "--key", str(tmp_path / "key.json"))
    for name in ("converted.perfetto", "converted.json.gz"):
        subprocess.run([PROGRAM, "convert", capture, tmp_path / "out" / name, "--anonymize", "--key", tmp_path / "key.json"], check=True, capture_output=True)
    text = everything_in(tmp_path / "out", printed.replace(str(tmp_path), ""))
    words = set(IDENTIFIER.findall(text))
    assert not secret & words
    assert capture.name not in text
    names = json.dumps(json.loads((tmp_path / "key.json").read_text()))
    assert not [word for word in secret if word not in names], "the key leads back to every name"
    assert (tmp_path / "key.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_the_diagnosis_is_the_same(capture, tmp_path):
    if not capture.exists():
        pytest.skip("no shared captures here")
    analyze(capture, tmp_path / "plain")
    analyze(capture, tmp_path / "hidden", "--anonymize", "--key", str(tmp_path / "key.json"))
    plain, hidden = report_of(tmp_path / "plain"), report_of(tmp_path / "hidden")
    for part in ("step_time", "breakdown", "health", "kernels", "utilisation"):
        assert plain[part] == hidden[part], part
    assert plain["verdict"]["bound_by"] == hidden["verdict"]["bound_by"]
    figures = ("id", "rule", "severity", "confidence", "cost_ms_per_step", "gain")
    assert [[finding[key] for key in figures] for finding in plain["findings"]] == [[finding[key] for key in figures] for finding in hidden["findings"]]
    assert [op["flops"] for op in plain["operators"]] == [op["flops"] for op in hidden["operators"]]
    assert {(note["code"], note["count"]) for note in plain["notes"]} == {(note["code"], note["count"]) for note in hidden["notes"]}


def sentences(value, path=""):
    """Every text of a diagnosis with where it stands."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from sentences(member, f"{path}.{key}")
    elif isinstance(value, list):
        for place, member in enumerate(value):
            yield from sentences(member, f"{path}[{place}]")


def told(key: Path, text: str) -> str:
    """The text with the owner's names in the place of the pseudonyms."""
    names = {pseudonym: name for group in json.loads(key.read_text()).values() if isinstance(group, dict) for pseudonym, name in group.items()}
    # A file's pseudonym keeps the ending, which is part of its name in the key.
    return re.sub(r"([a-z]+_\d+)(\.py)?", lambda match: names[match[1]] if match[1] in names else match[0], text)


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_every_sentence_of_the_diagnosis_is_the_same_up_to_the_pseudonyms(capture, tmp_path):
    if not capture.exists():
        pytest.skip("no shared captures here")
    key = tmp_path / "key.json"
    analyze(capture, tmp_path / "plain")
    analyze(capture, tmp_path / "hidden", "--anonymize", "--key", str(key))
    plain, hidden = report_of(tmp_path / "plain"), report_of(tmp_path / "hidden")
    compared = 0
    for part in ("verdict", "findings", "plan", "health", "step_time", "time_breakdown_undisturbed"):
        pairs = list(zip(sentences(plain[part]), sentences(hidden[part]), strict=True))
        for (path, own), (other, text) in pairs:
            assert path == other
            # Long names are cut where they stand in a sentence: what is left of both must agree.
            kept = own.partition("...")[0]
            assert told(key, text).startswith(kept) if "..." in own else told(key, text) == own, (path, own, told(key, text))
        compared += len(pairs)
    assert compared > 20


def test_the_diagnosis_of_a_job_is_the_same(tmp_path):
    ranks = sorted(SHARED.glob("h200/ddp/ddp_straggler.rank*.json.gz"))
    if not ranks:
        pytest.skip("no shared captures here")
    for name, options in (("plain", []), ("hidden", ["--anonymize", "--key", tmp_path / "key.json"])):
        subprocess.run([PROGRAM, "fuse", *ranks, "-o", tmp_path / name, "--full", "--quiet", *options], check=True, capture_output=True)
    plain, hidden = report_of(tmp_path / "plain"), report_of(tmp_path / "hidden")
    assert plain["step_time"] == hidden["step_time"]
    figures = ("id", "rule", "severity", "confidence", "cost_ms_per_step", "gain")
    assert [[finding[key] for key in figures] for finding in plain["findings"]] == [[finding[key] for key in figures] for finding in hidden["findings"]]
    assert [entry["last_rank"] for entry in plain["communication"]["collectives"]] == [entry["last_rank"] for entry in hidden["communication"]["collectives"]]


def test_sizes_become_symbols(tmp_path):
    analyze(GOLDEN / "launch_bound.before.json.gz", tmp_path / "out", "--anonymize", "--key", str(tmp_path / "key.json"))
    dims = " ".join(shape["dims"] for op in report_of(tmp_path / "out")["operators"] for shape in op["shapes"] or [])
    assert "size_" in dims
    assert not re.search(r"[2-9]|\d\d", re.sub(r"size_\d+", "", dims))


def test_pseudonyms_are_the_same_with_the_same_key(tmp_path):
    capture = GOLDEN / "launch_bound.before.json.gz"
    key = str(tmp_path / "key.json")
    analyze(GOLDEN / "jobs/python_work.json.gz", tmp_path / "other", "--anonymize", "--key", key)
    analyze(capture, tmp_path / "first", "--anonymize", "--key", key)
    before = Path(key).read_text()
    analyze(capture, tmp_path / "second", "--anonymize", "--key", key)
    assert (tmp_path / "first/report.json").read_bytes() == (tmp_path / "second/report.json").read_bytes()
    assert Path(key).read_text() == before


def test_a_file_that_is_no_key_is_left_alone(tmp_path):
    key = tmp_path / "notes.json"
    key.write_text('{"my": "own file"}')
    done = subprocess.run([PROGRAM, "analyze", GOLDEN / "launch_bound.before.json.gz", "-o", tmp_path / "out", "--anonymize", "--key", key],
                          capture_output=True, text=True)
    assert done.returncode != 0 and "key" in done.stderr
    assert key.read_text() == '{"my": "own file"}'
    assert not (tmp_path / "out").exists()


# What a user may have named, in every place that a recorder writes; each holds the mark.
MARK = "Zq"
OWN_EVENTS = [
    ("user_annotation", "/data/ZqA/ckpt epoch=3"), ("user_annotation", "Optimizer.step#ZqB.step"), ("user_annotation", "Torch-Compiled Region: ZqC"),
    ("user_annotation", "enumerate(DataLoader)#_ZqD.__next__"), ("user_annotation", "torch::x/home/ZqE"), ("user_annotation", "DataLoader ZqF"),
    ("user_annotation", "nccl:ZqG"), ("user_annotation", "gc: ZqH"), ("user_annotation", "FSDP::pre_forward (ZqI.layers.0)"), ("gpu_user_annotation", "ZqJ"),
    ("cpu_op", "zqns::ZqK"), ("cpu_op", "autograd::engine::evaluate_function: ZqLBackward"), ("cpu_op", "torch::autograd::CppNode<ZqM>"), ("cpu_op", "CompiledFunction_ZqN"),
    ("python_function", "/home/ZqO/model.py(33): ZqP"), ("python_function", "nn.Module: ZqQ_0"), ("python_function", "nn.Module: Linear_ZqR"),
    ("python_function", "<built-in method ZqS of PyCapsule object at 0x7f>"), ("python_function", "<built-in method run of zqlow.ZqT object at 0x7f>"),
    ("python_function", "<built-in function ZqU>"), ("python_function", "/usr/lib/python3.11/site-packages/zq_pkg/ZqV.py(3): ZqW"), ("python_function", "code/ZqX.py(1): ZqY"),
    ("python_function", "statistics.py(1): ZqZ"), ("python_function", "<string>(1): ZqAA"), ("python_function", "<frozen ZqAB>(1): run"),
]


def secret_trace(path: Path, rank: int = 0) -> None:
    events = [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python /home/ZqBA/train_ZqBB.py"}},
        {"ph": "M", "name": "process_labels", "pid": 1, "tid": 0, "args": {"labels": "ZqBC"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "thread 1 (ZqBD)"}},
    ]
    for step in range(4):
        start = step * 10000
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": start, "dur": 9900})
        for at, (category, name) in enumerate(OWN_EVENTS):
            events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": start + 100 * at + 10, "dur": 90})
        op = {"Input Dims": [[7919, 1024]], "Input type": ["__torch__.ZqCA", "float"], "Concrete Inputs": ["ZqCB"], "Call stack": "/home/ZqCC.py(1): f", "Module Hierarchy": "ZqCD"}
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": start + 5000, "dur": 500, "args": op})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": start + 5100, "dur": 5, "args": {"correlation": step + 1, "kernel_file": "/home/ZqCE.cu"}})
        events.append({"ph": "X", "cat": "kernel", "name": "sm90_gemm", "pid": 0, "tid": 7, "ts": start + 5200, "dur": 900, "args": {"correlation": step + 1, "device": 0, "stream": 7}})
        comms = {"Collective name": "allreduce", "Process Group Name": "ZqCF", "Process Group Description": "ZqCG", "Process Group Ranks": "[0, 1]", "dtype": "Float", "Group size": 2}
        events.append({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, "ts": start + 6500, "dur": 10, "args": comms})
        events.append({"ph": "C", "name": "ZqCH", "pid": 1, "tid": 1, "ts": start + 5, "args": {"ZqCI": step}})
        events.append({"ph": "i", "cat": "ZqCJ", "name": "ZqCK", "pid": 1, "tid": 1, "ts": start + 6})
        events.append({"ph": "X", "cat": "user_annotation", "name": "ZqCL cut", "pid": 1, "tid": 1, "ts": start + 9000, "dur": -5})
    top = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2, "hostname": "ZqDA", "pg_config": [{"pg_name": "ZqDB", "ranks": [0, 1]}]},
           "hostname": "ZqDC", "user": "ZqDD", "with_stack": 1, "profile_memory": "ZqDE", "ZqDF": "ZqDG", "trace_id": "ZqDH", "traceName": "/home/ZqDI/t.json",
           "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}], "traceEvents": events}
    path.write_text(json.dumps(top))


def test_names_of_the_owner_are_found_wherever_a_recorder_writes_them(tmp_path):
    (tmp_path / "ZqHome").mkdir()
    trace = tmp_path / "ZqHome/ZqFile.json"
    secret_trace(trace)
    printed = analyze(trace, tmp_path / "out", "--anonymize", "--key", str(tmp_path / "key.json"))
    damaged = tmp_path / "ZqHome/ZqDamaged.json"
    damaged.write_text(trace.read_text()[:-4000] + '{"ph": "X", "name": "ZqCut')
    printed += analyze(damaged, tmp_path / "damaged", "--anonymize", "--key", str(tmp_path / "key.json"))
    compared = subprocess.run([PROGRAM, "compare", trace, damaged, "-o", tmp_path / "both", "--anonymize", "--key", tmp_path / "key.json"],
                              capture_output=True, text=True, check=True)
    (tmp_path / "ZqHome/ZqRanks").mkdir()
    for rank in (0, 1):
        secret_trace(tmp_path / f"ZqHome/ZqRanks/ZqRank{rank}.json", rank)
    hidden = ["--anonymize", "--key", tmp_path / "key.json"]
    for command in (["analyze", tmp_path / "ZqHome/ZqRanks", "-o", tmp_path / "job"], ["fuse", tmp_path / "ZqHome/ZqRanks", "-o", tmp_path / "fused"],
                    ["fuse", tmp_path / "ZqHome/ZqRanks", "-o", tmp_path / "fused/fused.perfetto"],
                    ["digest", tmp_path / "ZqHome/ZqRanks/ZqRank1.json", "-o", tmp_path / "fused/one.accdigest"]):
        printed += subprocess.run([PROGRAM, *command, *hidden], capture_output=True, text=True, check=True).stdout
    assert (tmp_path / "job/report.json").exists() and (tmp_path / "fused/report.json").exists()
    for folder in ("out", "damaged", "both", "job", "fused"):
        text = everything_in(tmp_path / folder, (printed + compared.stdout).replace(str(tmp_path), ""))
        found = {word for word in re.findall(r"[\w:/<>#.]*\bZq[A-Z]\w*|zqns|zqlow|zq_pkg", text)}
        assert not found, folder
    assert "Zq" in (tmp_path / "key.json").read_text()


def test_a_report_cannot_be_made_anonymous_afterwards(tmp_path):
    capture = GOLDEN / "launch_bound.before.json.gz"
    analyze(capture, tmp_path / "plain")
    done = subprocess.run([PROGRAM, "compare", tmp_path / "plain/report.json", capture, "-o", tmp_path / "both", "--anonymize", "--key", tmp_path / "key.json"],
                          capture_output=True, text=True)
    assert done.returncode == 2 and "--anonymize" in done.stderr
    assert not (tmp_path / "both").exists()
