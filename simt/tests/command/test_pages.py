"""The pages in docs: what they say is so."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from numba_simt.command import options
from numba_simt.command.pytest_plugin import pytest_addoption
from numba_simt.ops import HAZARDS
from numba_simt.watching.findings import Finding
from numba_simt.watching.session import Refusal

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "races.md").read_text("utf-8")
FOUND = r"^(sums\.py:\d+): error: (\w+) in `block_sums`"
QUOTED = r"^    line \d+ .*<- .*$"


def program(name):
    """The code on the page below its name."""
    return re.search(rf"<!-- {name} -->\n```python\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_script_of_the_page_has_the_findings_that_it_shows(command):
    done = command(program("sums.py"), file="sums.py")
    shown = PAGE.partition("numba-simt: 4 errors in 1 kernel")[2].partition("```")[0]
    assert done.code == 1 and done.said.startswith("numba-simt: 4 errors in 1 kernel")
    assert re.findall(FOUND, done.said, re.MULTILINE) == re.findall(FOUND, shown, re.MULTILINE)
    quoted = re.findall(QUOTED, shown, re.MULTILINE)
    assert len(quoted) == 7 and re.findall(QUOTED, done.said, re.MULTILINE) == quoted


def test_the_mended_script_has_none(command):
    done = command(program("mended.py"), file="mended.py")
    assert done.code == 0 and "nothing found in 1 kernel" in done.said
    assert done.out == "[64. 64. 64. 64.] [4]\n"


def test_the_page_has_each_kind_and_no_other():
    table = PAGE.partition("| kind | what it is |")[2].partition("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines()[2:]]
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(HAZARDS)


def test_the_page_has_each_option_and_no_other():
    table = PAGE.partition("## The options")[2].partition("**The exit code**")[0]
    named = re.findall(r"`(--[a-z]+)", table)
    assert sorted(named) == sorted({**options.FLAGS, **options.VALUES})


def test_the_page_has_each_option_of_pytest():
    named = []

    class Parser:
        def getgroup(self, *_):
            return self

        def addini(self, *_, **__):
            pass

        def addoption(self, name, **_):
            named.append(name)

    pytest_addoption(Parser())
    assert len(named) == 7 and all(f"{name}" in PAGE for name in named)


def test_the_page_has_each_key_of_the_json(command):
    command("from numba import cuda\n", "--json", "out.json")
    table = PAGE.partition("## The JSON")[2]
    named = set(re.findall(r"`(\w+)`", table))
    told = json.loads(Path("out.json").read_text())
    assert set(told) <= named
    assert {one.name for kind in (Finding, Refusal) for one in fields(kind)} <= named


def test_the_workflow_runs_what_there_is():
    yaml = pytest.importorskip("yaml")
    text = (DOCS / "workflow.yml").read_text("utf-8")
    (job,) = yaml.safe_load(text)["jobs"].values()
    runs = " ".join(step.get("run", "") for step in job["steps"])
    assert "pytest --simt --simt-sarif races.sarif" in runs
    assert not re.search(r"pip install (--\S+ )*numba-simt", text)


def test_the_counts_of_strangers_are_those_of_its_table():
    text = (DOCS / "strangers.md").read_text("utf-8")
    counts = dict(re.findall(r"^\| ([a-z ]+) \| (\d+) \| [a-z]", text, re.MULTILINE))
    rows = [line for line in text.splitlines() if line.startswith("| ") and line.count(" | ") >= 5]
    found = {kind: sum(f" | {kind} | " in row for row in rows) for kind in counts}
    assert {kind: int(n) for kind, n in counts.items()} == found and len(counts) == 5
    assert f"Of the {sum(found.values())} rows" in text
    assert f"{found['runs']} of {sum(found.values()) - found['own error']} run" in text


def test_the_count_of_barriers_is_that_of_its_table():
    text = (DOCS / "barriers.md").read_text("utf-8")
    each = [int(n) for n in re.findall(r"^\| .* \| (\d+) \| .* \|$", text, re.MULTILINE)]
    assert text.splitlines()[2].startswith(f"{sum(each)} kernels of ")
    parts = re.search(r"(\d+) kernels have none, (\d+) only .*, (\d+) at least one error", text)
    assert sum(map(int, parts.groups())) == sum(each)
