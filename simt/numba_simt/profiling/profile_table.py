"""A profile as a table, line by line: as text of 100 characters a line, and as HTML.

A row of `source` is a line's number, its text and its counters; the row of all lines comes last.
"""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from textwrap import fill
from typing import NamedTuple

WIDTH = 100
_LABEL = 6  # characters for a line's number, with the space behind it
Counters = Mapping[str, float]


def _requests(n: Counters) -> float:
    return n["global_load_requests"] + n["global_store_requests"]


def _sectors(n: Counters) -> float:
    return n["global_load_sectors"] + n["global_store_sectors"]


def _sectors_per_request(n: Counters) -> float:
    return _sectors(n) / max(1, _requests(n))


def _transactions(n: Counters) -> float:
    return n["shared_load_transactions"] + n["shared_store_transactions"]


_COLUMNS: dict[str, Callable[[Counters], float]] = {
    "requests": _requests,
    "sectors": _sectors,
    "per req": _sectors_per_request,
    "shared": _transactions,
    "conflicts": lambda n: n["bank_conflicts"],
    "atomic": lambda n: n["atomic_lanes"],
    "splits": lambda n: n["divergent_branches"],
    "FLOP": lambda n: n["flops"],
    "active": lambda n: n["active_lane_ratio"],
}


class Column(NamedTuple):
    """A column in use: for each row its number as text, and its share of the largest line's."""

    heading: str
    numbers: list[str]
    shares: list[float]


class Row(NamedTuple):
    """What stands left of the numbers."""

    label: str
    text: str


def as_text(title: str, source: Sequence, total: Counters, sentences: Sequence[str]) -> str:
    """The title, the table, and the sentences."""
    columns = used_columns(source, total)
    widths = [2 + max(map(len, [c.heading, *c.numbers])) for c in columns]
    rows = _rows(source)
    room = min(max(len(row.text) for row in rows), WIDTH - _LABEL - sum(widths))
    lines = [title]
    lines += _text_row(Row("", ""), [c.heading for c in columns], widths, room)
    for i, row in enumerate(rows):
        lines += _text_row(row, [c.numbers[i] for c in columns], widths, room)
    said = [fill(sentence, WIDTH, subsequent_indent="  ") for sentence in sentences]
    return "\n".join([*lines, "", *said])


def _text_row(row: Row, numbers: Sequence[str], widths: Sequence[int], room: int) -> list[str]:
    """One line; two where the text is too long to have its numbers beside it."""
    cells = "".join(f"{n:>{width}}" for n, width in zip(numbers, widths, strict=True)).rstrip()
    label, text = row
    lines = []
    if len(text) > room and cells:
        lines.append(f"{label:>4}  {text}"[:WIDTH])
        label = text = ""
    lines.append(f"{label:>4}  {text:<{room}}{cells}".rstrip()[:WIDTH])
    return lines


def as_html(name: str, by: str, source: Sequence, total: Counters, sentences: Sequence[str]) -> str:
    """The same for a notebook; each number of a line has a bar behind it."""
    columns = used_columns(source, total)
    headings = ["", "", *(column.heading for column in columns)]
    body = "".join(_cell(escape(heading)) for heading in headings)
    for i, row in enumerate(_rows(source)):
        style = "white-space: pre-wrap; background: none"
        code = f'<code style="{style}">{escape(row.text)}</code>'
        body += f"</tr><tr>{_cell(row.label)}{_cell(code, align='left')}"
        body += "".join(_cell(column.numbers[i], column.shares[i]) for column in columns)
    said = "".join(f"<div>{escape(sentence)}</div>" for sentence in sentences)
    table = f'<table style="color: inherit; margin: 0.4em 0"><tr>{body}</tr></table>'
    return f"<div><b>{escape(name)}</b>: {by}</div>{table}{said}"


def _rows(source: Sequence) -> list[Row]:
    return [*(Row(str(line), text) for line, text, _ in source), Row("", "all lines")]


def used_columns(source: Sequence, total: Counters) -> list[Column]:
    """The columns in which something was counted."""
    found = []
    for heading, value in _COLUMNS.items():
        of_lines = [value(n) if n else 0 for _, _, n in source]
        numbers = [_number(heading, v) for v in (*of_lines, value(total))]
        if any(numbers):
            peak = max(of_lines) or 1
            shares = [v / peak for v in of_lines]
            found.append(Column(heading, numbers, [*shares, 0]))  # no bar behind the sum
    return found


def _number(heading: str, value: float) -> str:
    """A counter for a cell; nothing for 0."""
    if heading == "active":  # only where lanes are idle
        return f"{100 * value:.3g} %" if 0 < value < 1 else ""
    if not value:
        return ""
    if value >= 1e6:
        return f"{value / 1e6:.4g} M"
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}"


def _cell(html: str, share: float = 0, align: str = "right") -> str:
    """A table cell; behind a number a bar, `share` of the width, that suits white and black."""
    bar = f"linear-gradient(to left, rgba(61, 139, 212, 0.28) {share:.0%}, transparent 0)"
    style = f"white-space: nowrap; padding: 0 0.5em; background: {bar if html else 'none'}"
    return f'<td style="text-align: {align}; {style}">{html}</td>'
