"""What is likely behind a tool's words: the slip in the learner's own text, with its line.

A tool says where it stopped understanding, in words of its grammar. The slip is often on a line
before, and can be said in words of the text: a `;`, a `begin`, an `assign` is missing.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import NamedTuple

from labkit.fpga.sources import Sources, without_comments


class Slip(NamedTuple):
    """A sentence, and the line that it is about, from 1."""

    sentence: str
    line: int


_TOKEN = re.compile(r"`?[A-Za-z_$][\w$]*|[^\s\w]")
_PROCESSES = {"always_ff", "always_comb", "always", "always_latch", "initial"}
_OPENS = {
    "begin": "end",
    "module": "endmodule",
    "function": "endfunction",
    "generate": "endgenerate",
}
_OPENS |= dict.fromkeys(("case", "casez"), "endcase")
_HEADER = r"\s*(?:end\b)?\s*(?:else\b)?\s*(?:(?:if|for)\s*\((?:[^()]|\([^()]*\))*\))?\s*"
_ASSIGNMENT = re.compile(rf"{_HEADER}[A-Za-z_]\w*(?:\s*\[[^]]*\])*\s*(?P<arrow><?=)(?!=)")
_UNENDED = re.compile(rf"{_HEADER}(?:assign|logic|wire|reg|[\w\[\]:+ ]+<?=).*[\w)\]}}]$")
_UNKNOWN = re.compile(r"(?:definition of variable|implicit\w*[^']*): '(?P<name>\w+)'")
_AT_END = re.compile(r"end of file|\$end")
_DECLARED = r"\b(?:logic|wire|reg|int|genvar|parameter|localparam)\b[^;)]*\b{}\b"
# Words of other languages, and what is written here.
_FOREIGN = {"and": "&&", "or": "||", "not": "!", "elif": "else if", "elsif": "else if"}
_KEPT_APART = "`assign` takes `=`; `<=` belongs into `always_ff`."
_NO_PARENTHESES = "The condition of an `if` stands in parentheses: `if (a && b)`."
_NO_SEMICOLON = "Line {} does not end with `;`."
_ASSIGN_INSIDE = "Inside of `always` there is no `assign`: the assignment stands alone."
_LEFT_OPEN = "The `{}` of line {} is still open: write `{}` before this."
_ONE_STATEMENT = (
    "Without `begin ... end` only one statement belongs to line {}, and the `{}` of line {} has "
    "ended before this."
)
_OUTSIDE = {
    "<=": "`<=` stands outside of `always_ff`. For a wire write `assign name = ...;`.",
    "=": "Outside of `always` an assignment begins with `assign`.",
}


def likely(sources: Sources, file: str, line: int, words: str) -> str:
    """What follows a tool's words: a likely cause, with its line; "" without one.

    file, line   where the tool stopped
    words        what it said
    """
    text = without_comments(dict(sources.files).get(file, ""))
    slip = _unknown_name(text, line, words)
    if slip is None and "syntax error" in words:
        slip = _at_the_end(text) if _AT_END.search(words) else _of_grammar(text, line)
    if slip is None:
        return ""
    quoted = "" if slip.line == line else sources.quoted(file, slip.line)
    return f"\nLikely cause: {slip.sentence}{quoted}"


def _unknown_name(text: str, line: int, words: str) -> Slip | None:
    """A name that is not declared, and the declared one that is most like it."""
    found = _UNKNOWN.search(words)
    if found is None:
        return None
    name = found["name"]
    names = set(re.findall(r"\b[A-Za-z_]\w*\b", text)) - {name}
    declared = sorted(one for one in names if re.search(_DECLARED.format(one), text))
    near = get_close_matches(name, declared, n=1, cutoff=0.8)
    if near:
        return Slip(f"`{name}` should be `{near[0]}`, which is declared.", line)
    return Slip(f"`{name}` is declared nowhere: say `logic {name};` before its first use.", line)


def _of_grammar(text: str, line: int) -> Slip | None:
    """The slip that the text shows near the line where a tool stopped."""
    lines = [one.rstrip() for one in text.splitlines()]
    here = lines[line - 1]
    return (
        _of_the_line(here, line)
        or _no_semicolon(lines, line)
        or _of_the_structure(lines, here, line)
    )


def _at_the_end(text: str) -> Slip | None:
    """What is still open where the text ends."""
    lines = text.rstrip().splitlines()
    blocks = _Structure(lines, len(lines) + 1).blocks
    if not blocks:
        return None
    block, opened = blocks[-1]
    return Slip(f"The `{block}` of line {opened} has no `{_OPENS[block]}`.", opened)


def _of_the_line(here: str, line: int) -> Slip | None:
    """What the line itself shows."""
    if re.search(r"\bassign\s+[\w\[\]:+ ]+<=", here):
        return Slip(_KEPT_APART, line)
    for word, right in _FOREIGN.items():
        if re.search(rf"\b{word}\b", here):
            return Slip(f"`{word}` is written `{right}` here.", line)
    if re.search(r"\bif\s*[^\s(]", here):
        return Slip(_NO_PARENTHESES, line)
    return None


def _no_semicolon(lines: list[str], line: int) -> Slip | None:
    """The statement before the line where the tool stopped does not end."""
    filled = [number for number in range(1, line) if lines[number - 1]]
    if filled and _UNENDED.fullmatch(lines[filled[-1] - 1]):
        return Slip(_NO_SEMICOLON.format(filled[-1]), filled[-1])
    return None


class _Structure:
    """What is open before a line: blocks, and the process that the line may be in."""

    def __init__(self, lines: list[str], line: int) -> None:
        self.blocks: list[tuple[str, int]] = []  # the words that opened them, and their lines
        self.process: tuple[str, int] | None = None
        self.ended: tuple[str, int] | None = None  # the latest process, if nothing came after it
        self.header = 0  # the line of the latest `if`, `else` or process
        self._depth, self._parentheses, self._through = 0, 0, False
        for word, number in _words(lines[: line - 1]):
            self._take(word, number)

    def _take(self, word: str, number: int) -> None:
        if self._through and word != "else":
            self.ended, self.process = self.process, None
        self._through = False
        self._parentheses += (word == "(") - (word == ")")
        if word in _PROCESSES:
            self.process, self._depth = (word, number), len(self.blocks)
        if word in _PROCESSES or word in ("if", "else"):
            self.header = number
        if word in _OPENS:
            self.blocks.append((word, number))
        elif self.blocks and word == _OPENS[self.blocks[-1][0]]:
            self.blocks.pop()
            self._end_process()
        elif word == ";" and not self._parentheses:
            self._end_process()
        elif word in ("assign", "logic", "endmodule"):
            self.ended = None

    def _end_process(self) -> None:
        self._through = self.process is not None and len(self.blocks) == self._depth

    def settle(self, word: str) -> None:
        """The line begins with this word."""
        if self._through and word != "else":
            self.ended, self.process = self.process, None


def _words(lines: list[str]) -> Iterator[tuple[str, int]]:
    for number, text in enumerate(lines, start=1):
        for word in _TOKEN.findall(text):
            yield word, number


def _of_the_structure(lines: list[str], here: str, line: int) -> Slip | None:
    """A block that is not closed, or a statement where none can stand."""
    structure = _Structure(lines, line)
    first = _TOKEN.findall(here)[0]
    structure.settle(first)
    block, opened = structure.blocks[-1] if structure.blocks else ("", 0)
    if block == "begin" and first in ("else", "endmodule"):
        return Slip(_LEFT_OPEN.format(block, opened, "end"), opened)
    if first == "assign" and structure.process:
        return Slip(_ASSIGN_INSIDE, line)
    found = _ASSIGNMENT.match(here)
    if structure.process or not (found or first == "end"):
        return None
    if structure.ended:
        return Slip(_ONE_STATEMENT.format(structure.header, *structure.ended), structure.header)
    return Slip(_OUTSIDE[found["arrow"]], line) if found else None
