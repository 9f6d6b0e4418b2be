"""Markdown with one sentence on one line: where a text is not so, and how it would be.

Only flowing text is looked at: paragraphs and the items of lists. Tables, code, display formulas,
quotes, headings and HTML stay as they are.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

FENCE = re.compile(r"\s*(```|~~~)")
ITEM = re.compile(r"(?P<marker>\s*([-*+]|\d+[.)])\s+)(?P<text>.*)")
# Lines that are no flowing text: headings, quotes, tables, HTML, rules and underlines, references.
BLOCK = re.compile(r"\s*(#{1,6}(\s|$)|>|\||<|[-=*_]{2,}\s*$|\[[^\]]+\]:)")
INDENTED_CODE = re.compile(r"    |\t")
HARD_BREAK = re.compile(r"(  |\\)$")
# Pieces in which a full stop ends no sentence.
PROTECTED = re.compile(
    r"(`+)(?!`).+?(?<!`)\1(?!`)"  # code
    r"|\$[^$\n]+\$"  # a formula
    r"|\[[^\]]*\]\([^)]*\)"  # a link
    r"|<[^>\n]*>"  # HTML
)
# A full stop, what closes behind it, a space, and how a sentence begins.
END = re.compile(r"(?<=[.!?])(?P<closing>[*_\"')\]’”]*) +(?=[*_\"'(\[‘“`$<]*[A-Z0-9`$<])")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|cf|vs|approx|no|Fig|Sec|Eq|et al)\.$")
# Of a name: "S. M. Rump and F. Bünger".
INITIAL = re.compile(r"(^|[:,(] |and |\.-|\b[A-Z]\. )[A-Z]\.$")


class Block(NamedTuple):
    """Consecutive lines of a text that belong together."""

    first: int  # the number of its first line, from 1
    lines: list[str]
    flows: bool  # whether it is text whose line breaks mean nothing


def first_difference(text: str) -> tuple[int, str] | None:
    """The number, and the text, of the first line that is not one sentence; None if all are."""
    for block in blocks(text):
        wanted = rewritten(block)
        for place, line in enumerate(block.lines):
            if place >= len(wanted) or line != wanted[place]:
                return block.first + place, line.strip()
    return None


def with_one_sentence_a_line(text: str) -> str:
    """The text as it should be; it renders as before."""
    return "\n".join(line for block in blocks(text) for line in rewritten(block))


def rewritten(block: Block) -> list[str]:
    """The lines of a block as they should be."""
    if not block.flows:
        return block.lines
    item = ITEM.fullmatch(block.lines[0])
    marker = item["marker"] if item else re.match(r"\s*", block.lines[0])[0]
    first = item["text"] if item else block.lines[0]
    joined = " ".join(line.strip() for line in [first, *block.lines[1:]])
    sentences = sentences_of(joined)
    indent = " " * len(marker)
    return [marker + sentences[0], *(indent + sentence for sentence in sentences[1:])]


def sentences_of(text: str) -> list[str]:
    """The sentences of a text that stands on one line."""
    # Same length, so that a place in one is a place in the other.
    masked = PROTECTED.sub(lambda piece: _masked(piece[0]), text)
    found = []
    start = 0
    for end in END.finditer(masked):
        before = masked[start : end.start()]
        rest = text[end.end() :]
        if ABBREVIATION.search(before) or INITIAL.search(before) or _would_begin_a_block(rest):
            continue
        found.append(text[start : end.end()].rstrip())
        start = end.end()
    return [*found, text[start:]]


def _masked(piece: str) -> str:
    """A protected piece as long as it was, and as it began, without full stops and spaces."""
    return piece[0] + "x" * (len(piece) - 1)


def _would_begin_a_block(rest: str) -> bool:
    """Whether text at the start of a line would no longer be flowing text."""
    return bool(ITEM.match(rest) or BLOCK.match(rest) or FENCE.match(rest) or rest[:2] == "$$")


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a text, in order; together they are all its lines."""
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        length, flows = _next_block(lines[number:])
        yield Block(number + 1, lines[number : number + length], flows)
        number += length


def _next_block(lines: list[str]) -> tuple[int, bool]:
    """How many lines the first block has, and whether it flows."""
    first = lines[0]
    fence = FENCE.match(first)
    if fence:
        return _through(lines, lambda line: line.strip().startswith(fence[1])), False
    if first.strip().startswith("$$"):
        if first.strip().endswith("$$") and len(first.strip()) > 2:
            return 1, False
        return _through(lines, lambda line: line.strip().endswith("$$")), False
    is_item = ITEM.fullmatch(first) is not None
    if not first.strip() or BLOCK.match(first) or (INDENTED_CODE.match(first) and not is_item):
        return 1, False
    length = 1
    while length < len(lines) and _continues(lines[length]):
        length += 1
    flows = not any(HARD_BREAK.search(line) for line in lines[:length])
    return length, flows


def _through(lines: list[str], is_last: Callable[[str], bool]) -> int:
    """How many lines there are up to the one, below the first, that is the last."""
    for number, line in enumerate(lines[1:], 2):
        if is_last(line):
            return number
    return len(lines)


def _continues(line: str) -> bool:
    """Whether a line goes on with the paragraph or item above it."""
    starts = ITEM.fullmatch(line) or BLOCK.match(line) or FENCE.match(line)
    return bool(line.strip()) and not starts and not line.strip().startswith("$$")
