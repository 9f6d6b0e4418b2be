"""`make bench`: a missed ratio or count is red, a missed number of seconds only informs."""

import importlib.util
import json
from pathlib import Path

import pytest

from labkit.provenance import counted, measured

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def loaded(name):
    spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def table(tmp_path, monkeypatch):
    module = loaded("table")
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    return module


def test_only_a_limit_is_red(table, tmp_path, capsys):
    slow, fast = measured(2.0, "s"), measured(0.5, "s")
    rows = [
        table.Row("nothing asked", slow),
        table.Row("hoped for less", slow, goal=1.0),
        table.Row("as hoped", fast, goal=1.0),
        table.ratio("the two", slow, fast, limit=5),
    ]
    assert table.report("all", rows) == 0
    said = capsys.readouterr().out
    assert "over the goal" in said and "within the goal" in said and "4 times" in said
    assert "4 rows, 0 past their limit" in said
    stored = json.loads((tmp_path / "results" / "all.json").read_text())
    assert [row["value"] for row in stored["rows"]] == [2.0, 2.0, 0.5, 4.0]
    for row in table.ratio("the two", slow, fast, limit=3), table.Row("n", counted(2, "", "me"), 1):
        assert table.report(None, [row]) == 1
        assert "TOO MUCH" in capsys.readouterr().out


def test_sides_are_timed_in_turn(table):
    log = []
    runs = table.medians(lambda: log.append("ours"), lambda: log.append("theirs"), times=3)
    assert log == ["ours", "theirs"] * 3
    assert [run.word for run in runs] == ["measured", "measured"]


@pytest.mark.parametrize(
    ("kind", "said", "well"),
    [
        ("right", "Right: all 6 cases.", True),
        ("right", "Not yet: y[0] is 1.", False),
        ("wrong", "Not yet: y[0] is 1.", True),
        ("wrong", "Right: all 6 cases.", False),
        ("endless", "Not yet: it looks like an endless loop in line 3.", True),
        ("endless", "Not yet: y[0] is 1.", False),
    ],
)
def test_an_answer_that_is_told_something_else_is_not_timed(kind, said, well):
    assert loaded("checks").as_it_should_be(kind, said) is well
