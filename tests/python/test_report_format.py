"""report.json against its schema, its own promises and its documentation."""

import json
import os
import subprocess
from pathlib import Path

import jsonschema
import pytest

GOLDEN = sorted((Path(__file__).resolve().parent.parent / "golden").rglob("*.json.gz"))
BEGIN, END = "<!-- keys: written by tests/python/test_report_format.py -->", "<!-- end of keys -->"


@pytest.fixture(scope="module")
def schema(command):
    return json.loads(subprocess.run([command, "list", "schema"], check=True, capture_output=True).stdout)


def analyze(command, trace, folder):
    subprocess.run([command, "analyze", trace, "-o", folder, "--quiet"], check=True, timeout=120)
    return json.loads((Path(folder) / "report.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)


def unmeasured(value, path=""):
    """Every path that is null, with [] for the rows of a list."""
    if value is None:
        yield path
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from unmeasured(member, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for member in value:
            yield from unmeasured(member, path + "[]")


def check(report, schema):
    jsonschema.Draft202012Validator(schema).validate(report)
    listed = [entry["path"] for entry in report["not_measured"]]
    assert len(listed) == len(set(listed))
    assert set(unmeasured(report)) <= set(listed)
    parts = [report["time_breakdown"], report["time_breakdown_undisturbed"]]
    parts += [entry[form] for entry in report["breakdown"] for form in ("measured", "undisturbed")]
    for part in filter(None, parts):
        names = ("compute_ms", "memcpy_ms", "communication_exposed_ms", "idle_ms")
        assert sum(part[name] for name in names) == pytest.approx(part["window_ms"], abs=1e-9)
        assert sum(part["idle_causes"].values()) == pytest.approx(part["idle_ms"], abs=1e-9)
        assert all(part[name] >= 0 for name in names)
    assert (report["step_time"]["p95_ms"] is None) == (report["step_time"]["count"] < 20)
    ids = {finding["id"] for finding in report["findings"]}
    assert len(ids) == len(report["findings"])
    assert {step["finding_id"] for step in report["plan"]} <= ids
    assert [step["order"] for step in report["plan"]] == list(range(1, len(report["plan"]) + 1))


@pytest.mark.parametrize("trace", GOLDEN, ids=lambda path: path.name)
def test_report_of_a_golden_capture_keeps_the_schema(command, schema, trace, tmp_path):
    check(analyze(command, trace, tmp_path), schema)


def test_reports_of_the_shared_captures_keep_the_schema(command, schema, shared, tmp_path):
    traces = sorted((shared / "traces/h200/pairs").glob("*.json.gz"))
    assert traces
    for trace in traces:
        try:
            check(analyze(command, trace, tmp_path / trace.name), schema)
        except (AssertionError, jsonschema.ValidationError) as error:
            pytest.fail(f"{trace.name}: {error}")


def test_the_report_is_the_same_from_run_to_run(command, tmp_path):
    trace = GOLDEN[0]
    for name in ("a", "b"):
        analyze(command, trace, tmp_path / name)
    for file in ("report.html", "report.json", "report.md"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_the_schema_itself_is_valid(schema):
    jsonschema.Draft202012Validator.check_schema(schema)


def type_of(schema):
    if "anyOf" in schema:
        return type_of(schema["anyOf"][0]) + " or null"
    kind = schema["type"]
    if isinstance(kind, list):
        return f"{type_of({**schema, 'type': kind[0]})} or null"
    if kind == "array":
        return f"list of {type_of(schema['items'])}"
    if kind == "object" and "additionalProperties" in schema and isinstance(schema["additionalProperties"], dict):
        return f"map to {type_of(schema['additionalProperties'])}"
    return kind


def key_rows(schema, path=""):
    for key, member in schema.get("properties", {}).items():
        name = f"{path}{key}"
        yield f"| `{name}` | {type_of(member)} | {member['description']} |"
        inner = member.get("anyOf", [member])[0]
        if "object" in inner.get("type", "") and "properties" in inner:
            yield from key_rows(inner, name + ".")
        elif "array" in inner.get("type", "") and "properties" in inner["items"]:
            yield from key_rows(inner["items"], name + "[].")


def test_every_key_stands_in_the_documentation(project, schema):
    document = project / "docs/formats/report.md"
    text = document.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    table = "\n".join(["| key | type | meaning |", "|---|---|---|", *key_rows(schema)])
    wanted = f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"
    if os.environ.get("ACCEL_UPDATE_DOCS"):
        document.write_text(wanted, encoding="utf-8")
    assert document.read_text(encoding="utf-8") == wanted, "to write it anew: ACCEL_UPDATE_DOCS=1"
