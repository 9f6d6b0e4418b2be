"""Sections in processes of their own: one that hangs, dies, or finds no time left."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from labkit.gpu.report import runner
from labkit.gpu.report.rows import NotHere, Row, tried
from labkit.provenance import counted, measured

ROW = {"state": "done", "numbers": {}, "ok": True, "says": ""}
# A section of three rows, of which it does two; then `{then}`.
PROGRAM = """
import json, os, subprocess, sys, time
file = open(sys.argv[sys.argv.index("--rows") + 1], "a")
print(json.dumps({{"plan": ["one", "two", "three"]}}), file=file)
for name in ("one", "two"):
    print(json.dumps({{"what": name}} | {row!r}), file=file, flush=True)
{then}
"""


def program(then):
    """The command line of a section that ends so."""
    return [sys.executable, "-c", PROGRAM.format(row=ROW, then=then)]


def ends(then):
    """The section of such a program."""
    return runner.section("one", program(then), 60, {})


def states(section):
    return {row["what"]: row["state"] for row in section["rows"]}


KEPT = {"one": "done", "two": "done", "three": "not reached"}


def test_a_section_that_dies_keeps_its_rows_and_says_its_last_words():
    found = ends("print('the last words', flush=True); os.abort()")
    assert found["state"] == "died" and states(found) == KEPT
    assert "code -6" in found["why"] and "the last words" in found["why"]


def test_a_section_that_hangs_is_stopped_with_all_that_it_started(tmp_path, monkeypatch):
    """Its time is over as soon as it hangs, on a fast machine and on a slow one."""
    child = tmp_path / "child"

    class Hangs(subprocess.Popen):
        def wait(self, timeout=None):
            if timeout is None:
                return super().wait()
            while not (child.exists() and child.read_text()):
                time.sleep(0.01)
            raise subprocess.TimeoutExpired(self.args, timeout)

    monkeypatch.setattr(subprocess, "Popen", Hangs)
    then = (
        "child = subprocess.Popen(['sleep', '600']); "
        f"open({str(child)!r}, 'w').write(str(child.pid)); time.sleep(600)"
    )
    found = ends(then)
    assert found["state"] == "stopped" and states(found) == KEPT
    assert found["why"] == "It did not end within 60 seconds and was stopped."
    pid = int(child.read_text())
    with pytest.raises(ProcessLookupError):
        for _ in range(1000):  # until the system has taken it away
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                raise ProcessLookupError
            time.sleep(0.01)


def test_a_line_that_was_cut_off_does_not_count(tmp_path):
    rows = tmp_path / "rows"
    rows.write_text(json.dumps({"plan": ["a", "b"]}) + "\n" + '{"what": "a", "sta')
    assert runner.read(rows) == (["a", "b"], [])
    assert runner.read(tmp_path / "none") == ([], [])


def test_a_section_that_cannot_start_has_no_rows():
    found = runner.section("one", [sys.executable, "-c", "import nothing_of_this_name"], 60, {})
    assert found["state"] == "died" and found["rows"] == []
    assert "No module named" in found["why"]


def test_each_section_goes_on_after_anothers_failure_and_gets_what_came_before():
    then = {
        "results": "os.abort()",
        "speeds": "sys.exit(0)",
        "counters": (
            "before = json.load(open(sys.argv[sys.argv.index('--earlier') + 1])); "
            "sys.exit([*before] != ['results', 'speeds'])"
        ),
    }
    found = dict(runner.run([*then], False, lambda name, dry: program(then[name])))
    assert [section["state"] for section in found.values()] == ["died", "done", "done"]


def test_when_the_time_is_over_the_rest_is_not_begun(monkeypatch):
    begun = []

    def line(name, dry):
        begun.append(name)
        return program("sys.exit(0)")

    found = dict(runner.run(["results", "speeds"], False, line, whole=1.0))
    assert not begun and {section["state"] for section in found.values()} == {"not reached"}
    assert "minutes of a report were over" in found["results"]["why"]


def test_the_limits_of_all_sections():
    assert runner.WHOLE <= 8 * 60
    assert all(0 < about["seconds"] <= runner.WHOLE for about in runner.SECTIONS.values())
    order = [*runner.SECTIONS]
    assert order[:7] == [
        "results",
        "speeds",
        "counters",
        "hazards",
        "limits",
        "lessons",
        "launches",
    ]
    assert order.index("lessons") > order.index("speeds")  # whose numbers it reads


class OutOfMemoryError(RuntimeError):
    """As PyTorch's is called."""


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (NotHere("The program ncu is not here."), "not here"),
        (OutOfMemoryError("CUDA out of memory"), "no memory"),
        (RuntimeError("CUDA_ERROR_OUT_OF_MEMORY"), "no memory"),
        (MemoryError(), "no memory"),
        (ValueError("another"), "failed"),
    ],
)
def test_what_stops_a_row_becomes_a_row(error, state, capsys):
    def work():
        raise error

    row = tried(work)
    assert row["state"] == state and row["numbers"] == {} and row["ok"] is None
    assert str(error) in row["says"]


def test_a_dry_row_keeps_no_measured_number():
    row = Row({"a": measured(1, "s", "x"), "b": counted(2, "B", "y")}, True, "right", "tiles")
    assert [*tried(lambda: row)["numbers"]] == ["a", "b"]
    dry = tried(lambda: row, dry=True)
    assert dry["numbers"] == {"b": {"value": 2.0, "unit": "B", "word": "counted", "source": "y"}}
    assert dry["lesson"] == "tiles"
