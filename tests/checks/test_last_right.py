"""`last_right`: yours or ours, across kernels for texts, and whatever the file holds."""

import json
import subprocess
import sys

import pytest

from labkit import last_right
from labkit.checks import last_right as module
from labkit.checks.judge import check
from labkit.checks.record import record_check
from labkit.checks.registry import UnknownId

TEXT = "module mac; endmodule"


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(module, "_functions", {})


def test_ours_until_a_check_is_right_and_then_the_last_right_one(right):
    assert last_right("toy.linear").whose == "ours"
    assert check("toy.linear", right) is right
    assert last_right("toy.linear") == (right, "yours")
    check("toy.linear", lambda x, w, b: x)
    assert last_right("toy.linear") == (right, "yours"), "a wrong attempt takes nothing away"

    def another(x, w, b):
        return right(x, w, b)

    check("toy.linear", another)
    assert last_right("toy.linear").value is another


def test_ours_is_what_check_hands_on(right):
    value, whose = last_right("toy.linear")
    assert whose == "ours" and "course's own version" in value.__doc__


def test_a_text_is_found_in_another_kernel(home):
    module.keep_right("toy.linear", TEXT)
    code = "from labkit.checks import record\nprint(record.load()['exercises']['toy.linear'])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert TEXT in said.stdout
    assert last_right("toy.linear") == (TEXT, "yours")


def test_a_text_follows_a_function_and_a_function_a_text(right):
    module.keep_right("toy.linear", TEXT)
    module.keep_right("toy.linear", right)
    assert last_right("toy.linear").value is right
    module.keep_right("toy.linear", TEXT)
    assert last_right("toy.linear").value == TEXT


def test_nothing_is_kept_where_recording_is_off(home, right, monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", "off")
    check("toy.linear", right)
    module.keep_right("toy.linear", TEXT)
    assert last_right("toy.linear").whose == "ours"
    assert list(home.iterdir()) == [] and not module._functions


@pytest.mark.parametrize("kept", [7, ["a"], {"text": TEXT}, True])
def test_an_answer_that_is_no_text_gives_way_to_ours_with_a_sentence(home, capsys, kept):
    entry = {"attempts": 1, "solved": True, "answer": kept}
    (home / "progress.json").write_text(json.dumps({"exercises": {"toy.linear": entry}}))
    assert last_right("toy.linear").whose == "ours"
    assert "is no text. Ours is taken." in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "null", '{"exercises": {"toy.linear": 3}}'])
def test_a_broken_file_gives_ours_and_says_so(home, capsys, text):
    (home / "progress.json").write_text(text)
    assert last_right("toy.linear").whose == "ours"
    assert "could not be read" in capsys.readouterr().out


def test_a_file_from_before_answers_were_kept(home):
    entry = {"attempts": 2, "solved": True, "date": "2026-01-31"}
    (home / "progress.json").write_text(json.dumps({"exercises": {"toy.linear": entry}}))
    assert last_right("toy.linear").whose == "ours"
    record_check("toy.linear", solved=True, answer=TEXT)
    assert last_right("toy.linear") == (TEXT, "yours")


def test_an_unknown_id_is_refused():
    with pytest.raises(UnknownId, match=r"toy\.linaer"):
        last_right("toy.linaer")


def test_an_answer_may_not_fetch_ours(capsys):
    check("toy.linear", lambda x, w, b: last_right("toy.linear").value(x, w, b))
    assert "is solved" not in capsys.readouterr().out
    assert last_right("toy.linear").whose == "ours"
