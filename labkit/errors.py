"""Errors in sentences of ours: what an exception says, and what is wrong with what was given.

whole("ranks", 0)                         # ranks is a whole number from 1 on, not 0.
row_of(machines(), "h-100", "machine")    # No machine ... Did you mean 'h100'? ...
"""

import difflib
from collections.abc import Mapping
from typing import TypeVar

Row = TypeVar("Row")


def in_a_line(error: Exception) -> str:
    """What an exception says, to be put between brackets: never empty, never two lines."""
    said = str(error).strip() or type(error).__name__
    first_line = said.splitlines()[0]
    return first_line.rstrip(":. ")


def whole(what: str, value: object, least: int = 1, error: type[Exception] = ValueError) -> int:
    """The number; raises `error` where it is no whole number from `least` on, or True or False."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise error(f"{what} is a whole number from {least} on, not {value!r}.")
    return value


def row_of(table: Mapping[str, Row], key: str, kind: str) -> Row:
    """The table's row with this key. ValueError names the near matches, and all keys.

    kind   what a row is, in a word, for the error: "machine"
    """
    if key in table:
        return table[key]
    near = difflib.get_close_matches(str(key).lower(), table, cutoff=0.5)
    meant = ""
    if near:
        either = " or ".join(repr(name) for name in near)
        meant = f"Did you mean {either}? "
    raise ValueError(f"No {kind} {key!r} in the table. {meant}There are: {', '.join(table)}.")
