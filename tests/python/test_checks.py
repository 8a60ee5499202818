"""The project's own checks find what they are there to find."""

import subprocess
import sys

import pytest

from conftest import PROJECT


@pytest.fixture
def tree(tmp_path):
    def write(files: dict[str, str]):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def run(tool: str, project):
    return subprocess.run([sys.executable, PROJECT / "tools" / tool, project], capture_output=True, text=True)


@pytest.mark.parametrize(
    "file, include",
    [
        ("src/base/a.h", '"trace/store.h"'),
        ("src/trace/a.h", '"ingest/importer.h"'),
        ("src/ingest/kineto_json/a.cpp", '"analysis/audit.h"'),
        ("src/analysis/a.cpp", '"ingest/importer.h"'),
        ("src/analysis/a.cpp", "<diagnosis/rule.h>"),
        ("src/diagnosis/a.cpp", '"report/document.h"'),
        ("src/compare/a.cpp", '"diagnosis/rule.h"'),
        ("src/report/a.cpp", '"cli/main.h"'),
        ("src/runtime/session/a.cpp", '"trace/trace_store.h"'),
        ("src/runtime/session/a.cpp", '"ingest/importer.h"'),
        ("src/base/a.cpp", '"accel/profiler/engine.h"'),
        ("src/ingest/a.cpp", '"../analysis/audit.h"'),
        ("src/ingest/a.cpp", '"nowhere.h"'),
        ("src/oddments/a.cpp", "<vector>"),
    ],
)
def test_an_include_against_the_layers_is_found(tree, file, include):
    done = run("check_layers.py", tree({file: f"#include <vector>\n#include {include}\n"}))
    assert done.returncode == 1
    assert file in done.stdout


@pytest.mark.parametrize(
    "file, include",
    [
        ("src/ingest/a.cpp", '"trace/store.h"'),
        ("src/diagnosis/a.cpp", '"analysis/audit.h"'),
        ("src/cli/a.cpp", '"report/document.h"'),
        ("src/runtime/session/a.cpp", '"trace/schema.def"'),
        ("src/runtime/session/a.cpp", '"base/result.h"'),
        ("src/base/a.cpp", "<fmt/format.h>"),
        ("src/capi/a.cpp", '"accel/profiler/engine_c.h"'),
    ],
)
def test_an_include_down_the_layers_is_fine(tree, file, include):
    done = run("check_layers.py", tree({file: f"#include {include}\n"}))
    assert done.returncode == 0, done.stdout


GOOD = {
    "src/diagnosis/catalog.def": "// comment: RULE(x)\nRULE(one)\nRULE(two)\nRULE(three)\nFRAMEWORK(engine)\n",
    "src/diagnosis/one.cpp": "",
    "src/diagnosis/two/a.cpp": "",
    "src/diagnosis/three.cpp": "",
    "src/diagnosis/engine.cpp": "",
    "tests/unit/diagnosis/one_test.cpp": "",
    "tests/cases/diagnosis/two_finds_it.case": "",
    "tests/cases/diagnosis/three/first.case": "",
}


def test_a_complete_catalogue_passes(tree):
    done = run("check_catalog.py", tree(GOOD))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "change, message",
    [
        ({"src/diagnosis/new.cpp": ""}, "src/diagnosis/new.cpp is not listed in catalog.def: add RULE(new)"),
        ({"src/diagnosis/new/part.cpp": ""}, "add RULE(new)"),
        ({"src/diagnosis/catalog.def": GOOD["src/diagnosis/catalog.def"] + "RULE(four)\n"}, "RULE(four) has no source"),
        ({"src/diagnosis/catalog.def": GOOD["src/diagnosis/catalog.def"] + "RULE(one)\n"}, "one is listed twice"),
        ({"src/diagnosis/catalog.def": GOOD["src/diagnosis/catalog.def"] + "RULER(one)\n"}, "neither RULE nor FRAMEWORK"),
        (
            {"src/diagnosis/catalog.def": GOOD["src/diagnosis/catalog.def"] + "RULE(four)\n", "src/diagnosis/four.cpp": ""},
            "RULE(four) has no test",
        ),
    ],
)
def test_an_incomplete_catalogue_fails(tree, change, message):
    done = run("check_catalog.py", tree({**GOOD, **change}))
    assert done.returncode == 1
    assert message in done.stdout


def test_this_project_keeps_its_layers():
    done = run("check_layers.py", PROJECT)
    assert done.returncode == 0, done.stdout


def test_every_entry_of_this_project_is_listed_and_tested():
    done = run("check_catalog.py", PROJECT)
    assert done.returncode == 0, done.stdout
