"""What is likely behind a tool's words: the slip in the learner's own text, with its line.

A tool says where it stopped understanding, in words of its grammar. The slip is often on a line
before, and can be said in words of the text: a `;`, a `begin`, an `assign` is missing.
"""

import re
from difflib import get_close_matches
from typing import NamedTuple

from labkit.fpga.sources import Sources, without_comments

# What is open in a text of SystemVerilog: its blocks, and the process that a line is in.

TOKEN = re.compile(r"`?[A-Za-z_$][\w$]*|[^\s\w]")
PROCESSES = {"always_ff", "always_comb", "always", "always_latch", "initial"}
OPENS = {
    "begin": "end",
    "module": "endmodule",
    "function": "endfunction",
    "generate": "endgenerate",
}
OPENS |= dict.fromkeys(("case", "casez"), "endcase")
# With these words something other than a statement of a process begins.
BEGIN_ANEW = {*PROCESSES, "assign", "logic", "endmodule", "for"}


def tokens(text: str) -> list[str]:
    """The words and signs of a text, without its numbers and blanks."""
    return TOKEN.findall(text)


class Structure:
    """What is open before a line: blocks, and the process that the line may be in."""

    def __init__(self, lines: list[str], line: int) -> None:
        self.blocks: list[tuple[str, int]] = []  # the words that opened them, and their lines
        self.process: tuple[str, int] | None = None
        self.ended: tuple[str, int] | None = None  # the latest process, if nothing came after it
        self.header = 0  # the line of the latest `if`, `else` or process
        self._depth = 0  # of blocks, where the process began
        self._parentheses = 0
        self._through = False  # the process's statement has ended: only an `else` goes on with it
        for number, text in enumerate(lines[: line - 1], start=1):
            for word in tokens(text):
                self.take(word, number)

    def take(self, word: str, number: int) -> None:
        """The next word, and its line."""
        self.settle(word)
        self._through = False
        self._parentheses += (word == "(") - (word == ")")
        if word in PROCESSES:
            self.process = (word, number)
            self._depth = len(self.blocks)
        if word in PROCESSES or word in ("if", "else"):
            self.header = number
        if word in OPENS:
            self.blocks.append((word, number))
        elif self.blocks and word == OPENS[self.blocks[-1][0]]:
            self.blocks.pop()
            self._end_process()
        elif word == ";" and not self._parentheses:
            self._end_process()
        elif word in BEGIN_ANEW:
            self.ended = None

    def _end_process(self) -> None:
        self._through = self.process is not None and len(self.blocks) == self._depth

    def settle(self, word: str) -> None:
        """A process ends where its statement does, and this word does not go on with it."""
        if self._through and word != "else":
            self.ended = self.process
            self.process = None


class Slip(NamedTuple):
    """A sentence, and the line that it is about, from 1."""

    sentence: str
    line: int


_STATEMENTS = {*BEGIN_ANEW, *OPENS, *OPENS.values(), "else", "if"}
_HEADER = r"\s*(?:end\b)?\s*(?:else\b)?\s*(?:(?:if|for)\s*\((?:[^()]|\([^()]*\))*\))?\s*"
_ASSIGNMENT = re.compile(rf"{_HEADER}[A-Za-z_]\w*(?:\s*\[[^]]*\])*\s*(?P<arrow><?=)(?!=)")
_UNENDED = re.compile(rf"{_HEADER}(?:assign|logic|wire|reg|[\w\[\]:+ ]+<?=).*[\w)\]}}]$")
_UNKNOWN = re.compile(r"(?:definition of variable|implicit\w*[^']*): '(?P<name>\w+)'")
_AT_END = re.compile(r"end of file|\$end")
_UNEXPECTED = re.compile(r"unexpected (?P<word>[a-z]\w*)")
_DECLARED = r"\b(?:logic|wire|reg|int|genvar|parameter|localparam)\b[^;)]*\b{}\b"
# Words of other languages, and what is written here.
_FOREIGN = {"and": "&&", "or": "||", "not": "!", "elif": "else if", "elsif": "else if"}
_RESERVED = "`{}` is a word of SystemVerilog itself, and cannot be a name: choose another one."
_KEPT_APART = "`assign` takes `=`; `<=` belongs into `always_ff`."
_NO_PARENTHESES = "The condition of an `if` stands in parentheses: `if (a && b)`."
_LOOP = (
    "The loop declares its variable: `for (int {0} ...` in `always`, `for (genvar {0} ...` outside."
)
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
    beyond = line > len(text.splitlines())  # a tool may stop behind the last line
    slip = None if beyond else _unknown_name(text, line, words) or _reserved(text, line, words)
    if slip is None and "syntax error" in words:
        ends = beyond or _AT_END.search(words)
        slip = _at_the_end(text) if ends else _of_grammar(text, line)
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
    if re.search(rf"\bfor\s*\(\s*{name}\b", text.splitlines()[line - 1]):
        return Slip(_LOOP.format(name), line)
    names = set(re.findall(r"\b[A-Za-z_]\w*\b", text)) - {name}
    declared = sorted(one for one in names if re.search(_DECLARED.format(one), text))
    near = get_close_matches(name, declared, n=1, cutoff=0.8)
    if near:
        return Slip(f"`{name}` should be `{near[0]}`, which is declared.", line)
    return Slip(f"`{name}` is declared nowhere: say `logic {name};` before its first use.", line)


def _reserved(text: str, line: int, words: str) -> Slip | None:
    """A word of the language where a name stands: behind a type, or in front of its value."""
    found = _UNEXPECTED.search(words)
    if found is None or found["word"] in _STATEMENTS:
        return None
    word = found["word"]
    named = rf"(?:\b(?:logic|signed|wire|int|module|genvar)|[\],]|^)\s*{word}\b\s*(?:[;,\[)=]|<=)"
    here = text.splitlines()[line - 1]
    return Slip(_RESERVED.format(word), line) if re.search(named, here) else None


def _of_grammar(text: str, line: int) -> Slip | None:
    """The slip that the text shows near the line where a tool stopped."""
    lines = [one.rstrip() for one in text.splitlines()]
    here = lines[line - 1]
    return (
        _of_the_line(here, line)
        or _no_semicolon(lines, line)
        or (_of_the_structure(lines, here, line) if here.strip() else None)
    )


def _at_the_end(text: str) -> Slip | None:
    """What is still open where the text ends."""
    lines = text.rstrip().splitlines()
    blocks = Structure(lines, len(lines) + 1).blocks
    if not blocks:
        return None
    block, opened = blocks[-1]
    return Slip(f"The `{block}` of line {opened} has no `{OPENS[block]}`.", opened)


def _of_the_line(here: str, line: int) -> Slip | None:
    """What the line itself shows."""
    if re.search(r"\bassign\s+[\w\[\]:+ ]+<=", here):
        return Slip(_KEPT_APART, line)
    elsewhere = re.sub(r"@\s*\([^)]*\)", "", here)  # `posedge clk or posedge rst` is right
    for word, right in _FOREIGN.items():
        if re.search(rf"\b{word}\b", elsewhere):
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


def _of_the_structure(lines: list[str], here: str, line: int) -> Slip | None:
    """A block that is not closed, or a statement where none can stand."""
    structure = Structure(lines, line)
    first, *rest = tokens(here)
    structure.settle(first)
    block, opened = structure.blocks[-1] if structure.blocks else ("", 0)
    if block == "begin" and first in ("else", "endmodule"):
        return Slip(_LEFT_OPEN.format(block, opened, "end"), opened)
    if first == "assign" and structure.process:
        return Slip(_ASSIGN_INSIDE, line)
    found = _ASSIGNMENT.match(here)
    if structure.process:
        return _ended_within(structure, [first, *rest], line)
    if not (found or first == "end"):
        return None
    if structure.ended is None:
        return Slip(_OUTSIDE[found["arrow"]], line) if found else None
    return Slip(_ONE_STATEMENT.format(structure.header, *structure.ended), structure.header)


def _ended_within(structure: Structure, words: list[str], line: int) -> Slip | None:
    """The process that the line is in ends in the middle of it."""
    process = structure.process
    for word in words:
        structure.take(word, line)
        if structure.process is None and word not in BEGIN_ANEW:
            return Slip(_ONE_STATEMENT.format(structure.header, *process), structure.header)
    return None
