"""Adding a rule, an importer and an analysis: one source file, its test and one catalogue line each.

The steps of CONTRIBUTING.md, done in a copy of the project. The files below are the smallest complete ones.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import PROJECT

RULE = """#include "diagnosis/rule.h"

namespace accel {
namespace {

std::vector<Finding> run(const DiagnosisInput&, std::span<const Finding>) { return {}; }

}  // namespace

RuleDescriptor example_rule_rule() {
  RuleDescriptor rule;
  rule.id = "example_rule";
  rule.title = "An example that never fires";
  rule.run = run;
  return rule;
}

}  // namespace accel
"""

IMPORTER = """#include "ingest/catalog.h"

namespace accel::example_importer {
namespace {

int sniff(std::span<const char>, std::string_view) { return 0; }

Result<TraceStore> read(ByteSource&, const ImportOptions&) {
  return Error{ErrorCode::unreadable, "an example reads nothing", ""};
}

}  // namespace

const ImporterDescriptor kImporter = {"example_importer", "An example", "", ".example", sniff, read};

}  // namespace accel::example_importer
"""

ANALYSIS = """#include "analysis/analysis.h"

namespace accel {

struct ExampleResult {
  int answer = 0;
};

namespace {

Result<void> run(const TraceStore&, AnalysisResults& results, const AnalysisOptions&) {
  results.example_analysis = std::make_shared<const ExampleResult>(ExampleResult{42});
  return {};
}

}  // namespace

AnalysisDescriptor describe_example_analysis() {
  return {"example_analysis", "An example", "", {}, "The answer, without a unit.", run};
}

}  // namespace accel
"""

CASE = """# the list of {kind} shows the example
run accel-profiler list {kind}
----
stdout has "{name}"
"""

ENTRIES = {
    "diagnosis": ("example_rule", "rules", "RULE(example_rule)", RULE),
    "ingest": ("example_importer", "importers", "IMPORTER(example_importer)", IMPORTER),
    "analysis": ("example_analysis", "analyses", "ANALYSIS(example_analysis, ExampleResult)", ANALYSIS),
}


def run(*argv, cwd: Path):
    return subprocess.run([str(word) for word in argv], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class Copy:
    """A built copy of the project."""

    def __init__(self, root: Path):
        self.root = root
        names = run("git", "ls-files", "-co", "--exclude-standard", cwd=PROJECT).stdout.split("\n")
        for name in names:
            if (PROJECT / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(PROJECT / name, root / name)
        self.must("cmake", "--preset", "dev", "-DACCEL_TESTS=OFF", "-DACCEL_BENCHMARKS=OFF")
        self.build()

    def must(self, *argv):
        done = run(*argv, cwd=self.root)
        assert done.returncode == 0, done.stdout[-4000:]
        return done.stdout

    def build(self, *targets: str) -> list[str]:
        """The sources that were compiled."""
        output = self.must("cmake", "--build", "build", "-j", "2", "--target", *(targets or ["accel-profiler"]))
        return re.findall(r"Building CXX object \S+?\.dir/(src/\S+)\.o", output)

    def append(self, name: str, text: str):
        with (self.root / name).open("a") as file:
            file.write(text)

    def write(self, name: str, text: str):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def problems(self) -> str:
        return run(sys.executable, "tools/check_catalog.py", cwd=self.root).stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Copy:
    return Copy(tmp_path_factory.mktemp("project"))


def add_source(copy: Copy, layer: str):
    """The source alone: the configuration stops and says which line is missing."""
    name, _, line, source = ENTRIES[layer]
    copy.write(f"src/{layer}/{name}.cpp", source)
    done = run("cmake", "--build", "build", "--target", "accel-profiler", cwd=copy.root)
    assert done.returncode != 0
    message = " ".join(done.stdout.split())
    assert f"src/{layer}/{name}.cpp is not listed in src/{layer}/catalog.def" in message
    assert f"add {line.split('(')[0]}({name})" in message


def add_line_then_test(copy: Copy, layer: str):
    """Without a test the suite fails, with one it passes."""
    name, kind, line, _ = ENTRIES[layer]
    copy.append(f"src/{layer}/catalog.def", line + "\n")
    assert f"{line.split('(')[0]}({name}) has no test" in copy.problems()
    copy.write(f"tests/cases/{layer}/{name}.case", CASE.format(kind=kind, name=name))
    assert name not in copy.problems()


@pytest.mark.parametrize("layer", ["diagnosis", "ingest"])
def test_a_rule_or_importer_is_one_source_its_test_and_one_line(copy, layer):
    name = ENTRIES[layer][0]
    add_source(copy, layer)
    add_line_then_test(copy, layer)
    compiled = copy.build()
    assert f"src/{layer}/{name}.cpp" in compiled
    assert len(compiled) <= 4, compiled  # the new source, and what reads the catalogue
    done = run(sys.executable, "tests/cases/run_cases.py", f"tests/cases/{layer}/{name}.case", cwd=copy.root)
    assert done.stdout.endswith("1 passed, 0 failed, 0 skipped\n"), done.stdout


def test_an_analysis_is_one_source_its_test_and_one_line(copy):
    # Its result is a new slot of a type that most of the engine includes, so only the two objects are built here that
    # show it: the analysis, and the list that names it.
    add_source(copy, "analysis")
    add_line_then_test(copy, "analysis")
    objects = [f"CMakeFiles/accel_analysis.dir/src/analysis/{name}.cpp.o" for name in ("example_analysis", "analysis")]
    copy.build(*objects)
    defined, used = (copy.must("nm", "-C", f"build/{name}") for name in objects)
    assert re.search(r" T accel::describe_example_analysis", defined)
    assert re.search(r" U accel::describe_example_analysis", used)
