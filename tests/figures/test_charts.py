"""labkit.figures.charts: guesses and bars in pairs say what they show."""

import pytest

from labkit import figures
from labkit.provenance import counted, predicted


@pytest.mark.parametrize("guess", [None, predicted(0, "MAC", "you"), predicted(50, "MAC", "you")])
def test_guesses_take_missing_and_zero_guesses(capsys, guess):
    figures.guesses([("multiply-adds", guess, counted(100, "MAC", "hand"))])
    said = capsys.readouterr().out
    assert "result 100 MAC" in said
    assert ("no guess recorded" in said) == (guess is None)


def test_pairs_are_spoken(capsys):
    rows = {"conv1": tuple(counted(n, "B", "the test") for n in (4000, 2000))}
    figures.pairs(rows, ("float32", "bfloat16"), "kept")
    said = capsys.readouterr().out.strip()
    assert said == "kept, float32 and bfloat16: conv1 4 kB and 2 kB."
