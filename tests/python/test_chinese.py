"""Chinese for what rules say: every template of a rule is in the catalogue, and no finding of a capture stays English.

src/diagnosis/sentences holds the templates in both languages. A rule's sentence is a literal of its source, so that a
new one without Chinese fails here and names itself.
"""

import json
import re
import subprocess

import pytest

SENTENCE = re.compile(r'^SENTENCE\("((?:[^"\\]|\\.)*)", "((?:[^"\\]|\\.)*)"\)$')
# Names looked for in traces, and parts that other literals complete: no sentences.
NO_SENTENCES = {
    "{}{} to {}", "{:.{}f} GB/s", "Memcpy HtoD (Pageable", "Memcpy DtoH (Device -> Pageable", "Memcpy DtoH", "built-in function collect", "function open>",
    "function stat>", "function pread>", "function read>", "function loads>", "what the recording cost", ", is_causal=True)  # or attn_mask=mask for another mask",
}
CJK = re.compile("[\u4e00-\u9fff]")


def catalogue(project):
    entries = []
    for path in sorted((project / "src/diagnosis/sentences").glob("*.def")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith("//") or not line:
                continue
            found = SENTENCE.match(line)
            assert found, f"{path.name}:{number}"
            entries.append(tuple(re.sub(r"\\(.)", r"\1", text) for text in found.groups()))
    return entries


def literals(source):
    """String literals of C++ with their place; neighbours are one."""
    found, at = [], 0
    token = re.compile(r'//[^\n]*|"((?:[^"\\]|\\.)*)"|\'(?:\\.|[^\'\\])\'')
    for match in token.finditer(source):
        if match.group(1) is None:
            continue
        text = match.group(1)
        if found and re.fullmatch(r"\s*", source[at : match.start()]):
            found[-1] = (found[-1][0], found[-1][1] + text)
        else:
            found.append((match.start(), text))
        at = match.end()
    return found


def templates_of(path):
    source = re.sub(r"#include .*", "", path.read_text(encoding="utf-8"))
    descriptor = re.search(r"\nRuleDescriptor \w+_rule\(\)", source)
    if descriptor:
        source = source[: descriptor.start()]
    thresholds = [match.span() for match in re.finditer(r'constexpr Threshold \w+\{(?:"(?:[^"\\]|\\.)*"|[^"}])*\}', source)]
    for start, text in literals(source):
        in_threshold = any(first <= start < last for first, last in thresholds)
        words = re.findall(r"[A-Za-z]{2,}", re.sub(r"\{[^}]*\}", " ", text))
        if in_threshold or "\\n" in text or " " not in text.strip() or not words:
            continue
        yield re.sub(r"\\(.)", r"\1", text)


def plain(template):
    return re.sub(r"\{[^}]*\}", "{}", template)


def test_every_entry_names_each_of_its_pieces_once(project):
    seen = set()
    for english, chinese in catalogue(project):
        assert english not in seen, english
        seen.add(english)
        assert CJK.search(chinese) or english == "rank {n}" or chinese.startswith(("：", "（", "rank ")), chinese
        assert all(name in ("n", "u", "a", "t", "") for name in re.findall(r"\{([^}]*)\}", english)), english
        used = set(re.findall(r"\{(\d)\}", chinese))
        names = re.findall(r"\{([^}]*)\}", english)
        assert used <= {str(i) for i in range(len(names))}, english
        assert all(str(i) in used or name in ("u", "a") for i, name in enumerate(names)), english


def test_every_template_of_a_rule_has_chinese(project):
    known = [plain(english) for english, _ in catalogue(project)]
    known_text = "\n".join(known)

    def covers(text):
        """A hole may be filled by words of another literal: the catalogue then has each whole sentence."""
        filled = re.compile(".*".join(map(re.escape, plain(text).split("{}"))))
        return plain(text) in known_text or any(filled.fullmatch(entry) for entry in known)

    unit_words = {"recorded window", "a recorded window", "a step", "an iteration"}
    missing = []
    for path in sorted((project / "src/diagnosis").rglob("*.cpp")):
        if path.parent.name in ("sentences", "kernel_counters") or path.name in ("wording.cpp", "loader_work.cpp"):
            continue  # figures with units; names of Python functions; columns of a table (its texts: kernel_limits_test.cpp)
        for text in templates_of(path):
            # A piece that is put together with others stands within a template.
            if text in NO_SENTENCES or text in unit_words or covers(text):
                continue
            missing.append(f"{path.name}: {text}")
    assert not missing, "add them to src/diagnosis/sentences:\n" + "\n".join(missing)


def said(report):
    yield report["verdict"]["sentence"]
    for finding in report["findings"]:
        yield finding["title"]
        yield from (evidence["text"] for evidence in finding["evidence"])
        yield from (finding["action"][key] for key in ("title", "detail", "side_effects", "not_when") if finding["action"][key])
    yield from (step["title"] for step in report["plan"])
    for note in report["notes"]:
        yield from (note[key] for key in ("message", "remedy") if note[key])


def embedded(page, name):
    return json.loads(re.search(f'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL).group(1))


def check_chinese(command, folder, *inputs):
    subprocess.run([command, *inputs, "-o", folder, "--quiet", "--lang", "zh"], check=True, timeout=120)
    page = (folder / "report.html").read_text(encoding="utf-8")
    report, sentences = embedded(page, "report"), embedded(page, "about")["sentences"]
    missing = [text for text in said(report) if not CJK.search(sentences.get(text, ""))]
    assert not missing, "\n".join(missing)
    markdown = (folder / "report.md").read_text(encoding="utf-8")
    for finding in report["findings"]:
        assert finding["title"] not in markdown
        assert not any(f"- {evidence['text']}" in markdown for evidence in finding["evidence"])


def golden(project):
    return sorted((project / "tests/golden").rglob("*.json.gz"))


def test_no_finding_of_a_golden_capture_stays_english(command, project, tmp_path):
    for trace in golden(project):
        check_chinese(command, tmp_path / trace.name, "analyze", trace)


def test_no_finding_of_the_pairs_stays_english(command, shared, tmp_path):
    pairs = sorted((shared / "traces/h200/pairs").glob("*.before.json.gz"))
    assert pairs
    for trace in pairs:
        check_chinese(command, tmp_path / trace.name, "analyze", trace)


@pytest.mark.parametrize("job", ["ddp/ddp_straggler", "nccl2/unoverlapped", "nccl2/device_imbalance", "nccl2/host_straggler", "nccl2/fsdp2"])
def test_no_finding_of_a_job_stays_english(command, shared, tmp_path, job):
    traces = sorted((shared / "traces/h200").glob(f"{job}.rank?.json.gz"))
    assert traces
    check_chinese(command, tmp_path / "out", "fuse", *traces)
