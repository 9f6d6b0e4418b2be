"""A row of a table by its key; whoever mistypes the key is told the near ones.

row_of(machines(), "h-100", "machine")    # No machine ... Did you mean 'h100'? ...
"""

import difflib
from collections.abc import Mapping
from typing import TypeVar

Row = TypeVar("Row")


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
