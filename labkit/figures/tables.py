"""The one way to show a table: rows under heads, with units and provenance said once.

figures.table(
    ["kernel", "traffic", "passes"],
    [
        ["coalesced", counted(0.4, "FLOP/B", "the SIMT machine"), 2.0],
        ["tiled", counted(7.6, "FLOP/B", "the SIMT machine"), 2.1],
    ],
)

kernel          traffic  passes
        FLOP/B, counted
coalesced           0.4       2
tiled               7.6     2.1
counted by the SIMT machine
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill

import numpy as np

from labkit.figures.style import in_notebook
from labkit.provenance import Quantity, rounded

WIDTH = 100  # characters of a line below a table, in its plain text
GAP = "  "  # between columns


@dataclass(frozen=True)
class Column:
    """A column as it is shown: its head, what its numbers have in common, and its cells."""

    head: str
    below: str  # "FLOP/B, counted", or nothing
    cells: list[str]
    right: bool  # numbers stand at the right, words at the left


def table(heads: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> None:
    """Shows rows of words and numbers: as HTML with a plain-text twin, elsewhere as plain text.

    A cell is a str, a bool (yes or no), an int, a float (three digits), None (a dash) or a
    `Quantity`. What all quantities of a column share, unit and provenance word, stands in its
    head; where they differ, each cell has its own. The sources stand below the table, and `note`
    as a sentence below them.

    Raises ValueError for a row with more or fewer cells than there are heads.
    """
    for number, row in enumerate(rows, start=1):
        if len(row) != len(heads):
            raise ValueError(
                f"Row {number} of the table has {len(row)} cells, and there are {len(heads)} "
                f"heads: {', '.join(heads)}. Give each row one cell for each head."
            )
    by_column = [_origins([row[place] for row in rows]) for place in range(len(heads))]
    marks = _marks(by_column)
    columns = []
    for place, head in enumerate(heads):
        columns.append(_column(head, [row[place] for row in rows], marks))
    below = _notes_below(heads, by_column, marks)
    if note:
        below.append(note)
    text = _as_text(columns, below)
    if not in_notebook():
        print(text)
        return
    from IPython.display import display

    display({"text/html": _as_html(columns, below), "text/plain": text}, raw=True)


def _origins(cells: list[object]) -> list[str]:
    """ "counted by the SIMT machine", each once, in the order of the cells."""
    found = {}
    for cell in cells:
        if isinstance(cell, Quantity):
            found[cell.origin] = None
    return list(found)


def _marks(by_column: list[list[str]]) -> dict[str, int]:
    """The number of each origin that stands in a column beside another one."""
    marks: dict[str, int] = {}
    for origins in by_column:
        if len(origins) > 1:
            for origin in origins:
                marks.setdefault(origin, len(marks) + 1)
    return marks


def _column(head: str, cells: list[object], marks: dict[str, int]) -> Column:
    """The column's cells as text, and what they have in common."""
    quantities = [cell for cell in cells if isinstance(cell, Quantity)]
    unit = _only({quantity.unit for quantity in quantities})
    word = _only({quantity.word for quantity in quantities})
    several = len(_origins(cells)) > 1
    if any(quantity.prefixed for quantity in quantities):
        unit = ""  # each cell has its own SI prefix
    shown = []
    for cell in cells:
        text = _cell(cell, bare=bool(unit))
        if isinstance(cell, Quantity) and not word:
            text += f", {cell.word}"
        if isinstance(cell, Quantity) and several:
            text += f" [{marks[cell.origin]}]"
        shown.append(text)
    below = ", ".join(part for part in (unit, word) if part)
    words_only = all(cell is None or isinstance(cell, str) for cell in cells)
    return Column(head, below, shown, right=not words_only)


def _only(names: set[str]) -> str:
    """The name, where there is one alone."""
    return next(iter(names)) if len(names) == 1 else ""


def _cell(cell: object, bare: bool) -> str:
    """A cell's text; `bare` leaves out a quantity's unit."""
    if cell is None:
        return "-"
    if isinstance(cell, bool | np.bool_):
        return "yes" if cell else "no"
    if isinstance(cell, Quantity):
        return rounded(cell.value) if bare else cell.number
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int | np.integer):
        return f"{cell:,}"
    return rounded(float(cell))


def _notes_below(
    heads: Sequence[str], by_column: list[list[str]], marks: dict[str, int]
) -> list[str]:
    """The sources: numbered where a column has several, with the column's head where it has one."""
    lines = [f"[{number}] {origin}" for origin, number in marks.items()]
    alone: dict[str, list[str]] = {}
    for head, origins in zip(heads, by_column, strict=True):
        if len(origins) == 1:
            alone.setdefault(origins[0], []).append(head)
    if not lines and len(alone) == 1:
        return list(alone)
    return lines + [f"{', '.join(of)}: {origin}" for origin, of in alone.items()]


def _as_text(columns: list[Column], below: list[str]) -> str:
    """Lines of equal columns; what stands below is wrapped."""
    shown = []
    with_units = any(column.below for column in columns)
    for column in columns:
        top = [column.head, column.below] if with_units else [column.head]
        texts = top + column.cells
        width = max(len(text) for text in texts)
        align = str.rjust if column.right else str.ljust
        shown.append([align(text, width) for text in texts])
    lines = [GAP.join(texts).rstrip() for texts in zip(*shown, strict=True)]
    return "\n".join(lines + [fill(line, WIDTH) for line in below])


def _as_html(columns: list[Column], below: list[str]) -> str:
    """A table whose first column heads its rows."""
    heads = "".join(_html_head(column) for column in columns)
    rows = []
    for texts in zip(*[column.cells for column in columns], strict=True):
        cells = []
        for place, (text, column) in enumerate(zip(texts, columns, strict=True)):
            tag = 'th scope="row"' if place == 0 else "td"
            cells.append(f"<{tag} {_style(column)}>{escape(text)}</{tag.split()[0]}>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    said = "".join(f"<div>{escape(line)}</div>" for line in below)
    return (
        f"<table><thead><tr>{heads}</tr></thead>\n<tbody>\n"
        + "\n".join(rows)
        + f"\n</tbody></table>\n<small>{said}</small>"
    )


def _html_head(column: Column) -> str:
    small = f"<br><small>{escape(column.below)}</small>" if column.below else ""
    return f'<th scope="col" {_style(column)}>{escape(column.head)}{small}</th>'


def _style(column: Column) -> str:
    side = "right" if column.right else "left"
    return f'style="text-align:{side}"'
