"""labkit.errors: what an exception says, in one line that is never empty."""

import pytest

from labkit.errors import in_a_line


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
