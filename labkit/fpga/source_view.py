"""SystemVerilog as a reader sees it: numbered lines, in colours, the line of a message marked.

Who writes a message about a line of a module puts `excerpt` below its sentence,

    raise RTLError(f"mac.sv, line 12: {words}\\n{excerpt(text, 12)}", 12)

and `Sources.quoted` does so for a file of a design. Who hands the message on to `check` takes it
apart with `paragraphs`, so that the lines are shown as code: `raise Refused(*paragraphs(message))`.
A lesson shows a module that is there to be read with `show`.
"""

from itertools import groupby
from pathlib import Path

from labkit.checks.render import Code
from labkit.figures.listings import is_numbered, listing, numbered

LANGUAGE = "systemverilog"


def excerpt(text: str, number: int) -> str:
    """Line `number` (from 1) of a text, and one on each side; empty where there is no such line.

    text    the whole module, as the learner's cell has it: what follows r\"\"\" is line 1
    """
    if not 0 < number <= len(text.splitlines()):
        return ""
    return numbered(text, range(number - 1, number + 2), mark=number)


def paragraphs(message: str) -> list[str | Code]:
    """A message as its sentences and its numbered lines: the parts of a `Refused` or `Message`."""
    parts: list[str | Code] = []
    for are_code, lines in groupby(message.splitlines(), is_numbered):
        text = "\n".join(lines)
        parts.append(Code(text, LANGUAGE) if are_code else text)
    return parts


def show(module: str | Path, mark: int | None = None) -> None:
    """Shows a module that a lesson gives to read, with its lines' numbers.

    module   its text, or the path of its file
    mark     the number of a line to point out
    """
    text = module.read_text("utf-8") if isinstance(module, Path) else module
    listing(text, LANGUAGE, mark)
