"""The forms of the report: text, HTML, JSON, SARIF."""

import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlparse

import pytest

from numba_simt.reports import page, sarif, terminal
from numba_simt.watching.endings import Ending
from numba_simt.watching.findings import Finding
from numba_simt.watching.session import KernelRecord, Session
from numba_simt.watching.summary import summarise

from .conftest import FINE, RACY


def finding(**changed):
    parts = {
        "kind": "race",
        "severity": "error",
        "what": "Race on s[0] <of> shared memory.",
        "cure": "Put a barrier & a half between them.",
        "undefined_on": "all GPUs",
        "guide": "https://docs.nvidia.com/cuda/",
        "kernel": "k",
        "file": __file__,
        "line": 5,
        "text": "x[0] = y[0]",
        "other_line": 3,
        "other_text": "y[0] = 1",
        "threads": ["thread 1 of block 0", "thread 2 of block 0"],
        "scope": "block",
        "launch": "k[1, 32]",
        "elements": ["y[0]"],
        "count": 2,
        "launches": 1,
    }
    return Finding(**(parts | changed))


def session_with(*findings):
    session = Session()
    for one in findings:
        session.add(one)
    return session


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_finding_names_all_its_parts():
    text = "\n".join(terminal.finding_lines(finding(), terminal.Paint(io.StringIO())))
    for part in ("what", "cure", "undefined_on", "guide", "text", "other_text", "launch"):
        assert getattr(finding(), part) in text
    assert ":5: error: race in `k`" in text and "y[0]" in text
    first, second = (text.index(f"line {line} ") for line in (3, 5))
    assert first < text.index("thread 2 of block 0") < second < text.index("thread 1 of block 0")


def test_what_a_finding_lacks_leaves_no_empty_line():
    bare = finding(cure="", undefined_on="", guide="", other_line=None, threads=[], elements=[])
    lines = [*terminal.finding_lines(bare, terminal.Paint(io.StringIO()))]
    assert all(line.strip() for line in lines) and "Cure" not in "\n".join(lines)


def test_colours_are_for_terminals_that_want_them(monkeypatch):
    summary = summarise(session_with(finding()), "script.py")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for stream, coloured in ((Terminal(), True), (io.StringIO(), False)):
        terminal.write(summary, stream)
        assert ("\033[" in stream.getvalue()) == coloured
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.write(summary, stream := Terminal())
    assert "\033" not in stream.getvalue()


def test_errors_come_first_and_the_verdict_counts_each_severity():
    found = [finding(severity=one, line=i) for i, one in enumerate(("note", "warning", "error"), 1)]
    summary = summarise(session_with(*found), "script.py")
    assert [one.severity for one in summary.findings] == ["error", "warning", "note"]
    assert summary.verdict == "1 error, 1 warning, 1 note in 1 kernel"


class Page(HTMLParser):
    """Checks that tags nest, and takes their text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.links, self.files = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        addresses = [v for k, v in attributes if k in ("href", "src")]
        (self.links if tag == "a" else self.files).extend(addresses)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "title"} & set(self.open):
            self.text.append(data)


def test_html_has_the_source_with_counters_and_findings_at_their_lines(command):
    command(RACY, "--html", "out.html")
    text = Path("out.html").read_text()
    shown = Page(text)
    assert shown.open == [] and shown.files == []  # it needs no other file
    words = " ".join(shown.text)
    assert re.search(r"h\[x\[i\]\] \+= 1 +24 +96 +4 ", words), "8 warps load x and h, store h"
    assert words.index("h[x[i]] += 1") < words.index("script.py:8: error: race")
    assert words.index("script.py:8: error: race") < words.index("all lines")
    assert "first in count[4, 64]; h[0]" in words
    assert "color-scheme: light dark" in text and "<script" not in text


def test_html_escapes_what_it_shows():
    text = page.as_html(summarise(session_with(finding()), "<script>.py"))
    assert "s[0] &lt;of&gt; shared" in text and "&lt;script&gt;.py" in text
    assert Page(text).links == ["https://docs.nvidia.com/cuda/"]


def test_html_of_what_raised_has_its_traceback():
    error = None
    try:
        raise ValueError("<no>")
    except ValueError as raised:
        error = raised
    text = page.as_html(summarise(Session(), "x.py", Ending(1, error)))
    assert "ValueError: &lt;no&gt;" in text and Page(text).open == []


KEYS = {
    *("schema", "version", "numba_simt", "program", "verdict", "failed", "exit_code", "notes"),
    *("program_exit_code", "program_traceback", "launches", "watched_of_each_shape"),
    *("findings", "silenced", "refusals", "kernels"),
}


def test_json_has_the_documented_keys(command):
    done = command(RACY + "raise SystemExit(7)\n", "--json", "out.json")
    told = json.loads(Path("out.json").read_text())
    assert set(told) == KEYS
    assert (told["exit_code"], told["program_exit_code"], told["failed"]) == (1, 7, True)
    assert told["launches"] == {"watched": 1, "watched_in_part": 0, "plain": 0} and done.code == 1
    race = next(one for one in told["findings"] if one["kind"] == "race")
    assert race["line"] == 8 and race["file"].endswith("script.py") and race["text"] in RACY
    (kernel,) = told["kernels"]
    assert kernel["name"] == "count" and kernel["counters"]["global_store_requests"] == 8
    assert {one["line"] for one in kernel["lines"]} <= {6, 7, 8}


LEVELS = {"none", "note", "warning", "error"}


def check_sarif(told):
    """What SARIF 2.1.0 (sections 3.13 to 3.52) requires of the objects that are used here."""
    assert told["version"] == "2.1.0" and isinstance(told["runs"], list)
    for run in told["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"] and isinstance(driver["name"], str)
        ids = [rule["id"] for rule in driver["rules"]]
        assert len(ids) == len(set(ids)) and all(isinstance(one, str) for one in ids)
        assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
        for invocation in run["invocations"]:
            assert isinstance(invocation["executionSuccessful"], bool)
        for result in run["results"]:
            assert result["message"]["text"] and result["level"] in LEVELS
            assert ids[result["ruleIndex"]] == result["ruleId"]
            for suppression in result.get("suppressions", []):
                assert suppression["kind"] in {"inSource", "external"}
            for location in result["locations"] + result.get("relatedLocations", []):
                place = location["physicalLocation"]
                address = urlparse(place["artifactLocation"]["uri"])
                assert address.path and address.scheme in {"", "file"} and " " not in address.path
                if "region" in place:
                    assert place["region"]["startLine"] >= 1
            for location in result.get("relatedLocations", []):
                assert location["message"]["text"] and location["id"] >= 0


def test_sarif_is_as_its_standard_requires(command):
    code = "# simt: ignore[same_value]\n        pass"
    text = RACY.replace("h[x[i]] += 1\n", f"h[x[i]] += 1  {code}\n")
    command(text, "--sarif", "out.sarif")
    told = json.loads(Path("out.sarif").read_text())
    check_sarif(told)
    (run,) = told["runs"]
    races = [one for one in run["results"] if one["ruleId"] == "race"]
    place = races[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "script.py" and place["region"]["startLine"] == 8
    assert place["region"]["snippet"]["text"].startswith("h[x[i]] += 1")
    for one in run["results"]:
        assert ("suppressions" in one) == (one["ruleId"] == "same_value")


def test_sarif_of_a_clean_run_and_of_a_refusal(command):
    command(FINE, "--sarif", "out.sarif")
    told = json.loads(Path("out.sarif").read_text())
    check_sarif(told)
    assert told["runs"][0]["results"] == []
    command("from numba.cuda import no_such_name\n", "--sarif", "out.sarif")
    told = json.loads(Path("out.sarif").read_text())
    check_sarif(told)
    (result,) = told["runs"][0]["results"]
    assert result["ruleId"] == "refused" and result["level"] == "warning"
    assert told["runs"][0]["invocations"] == [{"executionSuccessful": False, "exitCode": 1}]


@pytest.mark.parametrize("file", ["work.ipynb, cell 3", "a folder/ä.py", "/else where/x.py"])
def test_sarif_addresses_are_addresses(here, file):
    summary = summarise(session_with(finding(file=file)), "x")
    summary.kernels.append(KernelRecord("k", file, 1))
    told = json.loads(sarif.as_sarif(summary))
    check_sarif(told)
    place = told["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert ("region" in place) == ("cell" not in file)
