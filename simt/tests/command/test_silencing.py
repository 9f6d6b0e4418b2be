"""Findings silenced by a comment or a file, and counted."""

import pytest

from numba_simt.watching.silencing import read_rules

from .conftest import RACY

LINE = "        h[x[i]] += 1"


@pytest.mark.parametrize(
    ("comment", "silenced"),
    [
        ("# simt: ignore", True),
        ("# simt: ignore[race, same_value]", True),
        ("# SIMT:ignore[race,same_value]  as it is only a sketch", True),
        ("# simt: ignore[uninitialised]", False),
        ("# to ignore", False),
    ],
)
def test_a_comment_in_the_line(command, comment, silenced):
    done = command(RACY.replace(LINE, f"{LINE}  {comment}"))
    assert done.code == (not silenced)
    assert ("silenced by the comment in line 8" in done.said) == silenced
    assert ("error: race" in done.said) != silenced


@pytest.mark.parametrize(
    ("rule", "silenced"),
    [
        ("* script.py", True),
        ("* *.py:8", True),
        ("* script.py::count  # known", True),
        ("r* ./script.py::co*t", True),
        ("race script.py:?", True),
        ("* script.py:7", False),
        ("* script.py:1?", False),
        ("* script.py::other", False),
        ("uninitialised script.py", False),
        ("", False),
    ],
)
def test_a_rule_of_a_file(command, here, rule, silenced):
    (here / "known.txt").write_text(f"# what we know\n\n{rule}\n")
    done = command(RACY, "--ignore", "known.txt")
    assert done.code == (not silenced)
    assert ("silenced by known.txt:3" in done.said) == silenced
    in_vain = bool(rule) and not silenced
    assert ("No finding of this run fits the rules known.txt:3." in done.said) == in_vain


def test_one_kind_alone_is_silenced(command, here):
    (here / "known.txt").write_text("race script.py:8\n")
    done = command(RACY, "--ignore", "known.txt", "--json", "out.json")
    assert done.code == 0 and "error: race" not in done.said
    assert "finding silenced by known.txt:1" in done.said


def test_a_line_that_is_no_rule_is_refused_with_its_number(command, here):
    (here / "known.txt").write_text("race script.py\nrace\n")
    with pytest.raises(ValueError, match=r"known\.txt:2: `race` is no rule"):
        read_rules("known.txt")
    done = command(RACY, "--ignore", "known.txt")
    assert done.code == 2 and "known.txt:2" in done.said and done.out == ""


@pytest.mark.parametrize("kind", ["rase", "RACE", "same value"])
def test_a_kind_that_there_is_not_is_told(command, here, kind):
    (here / "known.txt").write_text(f"{kind} script.py\n")
    done = command(RACY, "--ignore", "known.txt")
    assert done.code == 2 and done.out == ""
    word = kind.partition(" ")[0]
    assert f"known.txt:1: `{word}` is no kind. There are barrier_after_return," in done.said
    done = command(RACY.replace(LINE, f"{LINE}  # simt: ignore[{kind}]"))
    said = " ".join(done.said.split())
    assert done.code == 1 and f"script.py:8: the comment says `{word}`, which is no kind" in said
