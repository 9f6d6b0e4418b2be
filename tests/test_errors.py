"""labkit.errors: what an exception says in a line, and rows of tables by mistyped keys."""

import pytest

from labkit.errors import in_a_line, row_of


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("It is wrong."), "It is wrong"),
        (ValueError("first:\nsecond"), "first"),
        (OSError("\n  late  \n"), "late"),
        (KeyError(), "KeyError"),
    ],
)
def test_an_exception_is_one_line_without_its_full_stop(error, said):
    assert in_a_line(error) == said


TABLE = {"h100": 1, "h200": 2, "cray": 3}


def test_a_row():
    assert row_of(TABLE, "h200", "machine") == 2


def test_near_keys_are_named_whatever_their_case():
    told = r"No machine 'H10' in the table\. Did you mean 'h100' or 'h200'\? There are: h100, h200"
    with pytest.raises(ValueError, match=told):
        row_of(TABLE, "H10", "machine")


@pytest.mark.parametrize("key", ["zzz", None, 7])
def test_nothing_is_near(key):
    with pytest.raises(ValueError, match=r"No cluster .* in the table\. There are: h100, h200"):
        row_of(TABLE, key, "cluster")
