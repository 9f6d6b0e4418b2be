"""How the checks speak: one Message, shown as plain text or as HTML.

A message is a word ("Right", "Look again"), a headline and a body of paragraphs (str), `Code` and
`Table`. In a notebook it is displayed with both text/plain and text/html; elsewhere it is
printed. The word carries the meaning; the colour of the left border only repeats it. No
background and no text colour is set, so that it reads the same in light and dark themes. What is
shown never holds a time, a date or a memory address.
"""

import re
import sys
from dataclasses import dataclass
from html import escape
from textwrap import fill, indent

from labkit.figures.listings import as_html

BORDERS = {  # word -> colour of the border, all of mid brightness
    "Right": "#2e9e5b",
    "Not yet": "#8a8a8a",
    "Look again": "#c7851a",
    "Hint": "#3d8bd4",
    "Question": "#3d8bd4",
    "Prediction": "#3d8bd4",
    "Note": "#8a8a8a",
    "Not judged": "#8a8a8a",
    "Check failed": "#c0504d",
}


@dataclass(frozen=True)
class Code:
    """Lines shown as they are, in a fixed-width font.

    language  of lines with their numbers, which a notebook shows in colours: a key of
              `labkit.figures.listings.LANGUAGES`
    """

    text: str
    language: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of two cells."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Message:
    """`word` is a key of BORDERS. In sentences, `backticks` mark code."""

    word: str
    headline: str
    body: tuple[str | Code | Table, ...] = ()

    def __str__(self) -> str:
        """Plain text, wrapped; the body is indented."""
        parts = [_wrap(f"{self.word}: {self.headline}")]
        parts += [indent(_plain(block), "  ") for block in self.body]
        return clean("\n".join(parts))

    def html(self) -> str:
        """The same as one `div`, with everything escaped."""
        border = f"border-left: 4px solid {BORDERS[self.word]}"
        head = _html(f"{self.word}: {self.headline}").replace(self.word, f"<b>{self.word}</b>", 1)
        body = "".join(_html(block) for block in self.body)
        style = f"{border}; padding-left: 0.8em; margin: 0.4em 0"
        return clean(f'<div style="{style}">{head}{body}</div>')


def say(message: Message) -> None:
    """Displays in a notebook, prints elsewhere. A closed stdout loses the message; never raises."""
    try:
        ipython = sys.modules.get("IPython")
        shell = getattr(ipython, "get_ipython", lambda: None)()
        if getattr(shell, "kernel", None) is not None:
            forms = {"text/plain": str(message), "text/html": message.html()}
            ipython.display.display(forms, raw=True)
        else:
            _print(str(message))
    except (Exception, KeyboardInterrupt):
        pass


def clean(text: str) -> str:
    """Without what differs from run to run: memory addresses, colours, control characters."""
    text = re.sub(r" ?\bat 0x[0-9a-fA-F]+", "", text)
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", "?", text)


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except UnicodeEncodeError:  # an ASCII terminal
        encoding = getattr(sys.stdout, "encoding", None) or "ascii"
        print(text.encode(encoding, "replace").decode(encoding), flush=True)


def _wrap(sentence: str) -> str:
    whole_words = {"break_long_words": False, "break_on_hyphens": False}
    return fill(sentence, 96, subsequent_indent="  ", **whole_words)


def _plain(block: str | Code | Table) -> str:
    if isinstance(block, Code):
        return indent(block.text, "  ", lambda line: True)
    if isinstance(block, Table):
        width = max((len(label) for label, _ in block.rows), default=0)
        return "\n".join(f"  {label:<{width}}  {value}" for label, value in block.rows)
    return _wrap(block)


def _html(block: str | Code | Table) -> str:
    if isinstance(block, Code) and block.language:
        return as_html(block.text, block.language)
    if isinstance(block, Code):
        style = "margin: 0.3em 0 0.3em 1em; white-space: pre-wrap; background: none"
        return f'<pre style="{style}">{escape(block.text)}</pre>'
    if isinstance(block, Table):
        rows = "".join(_html_row(row) for row in block.rows)
        return f'<table style="margin: 0.3em 0 0.3em 1em; color: inherit">{rows}</table>'
    return f'<div style="margin: 0.2em 0">{_inline(block)}</div>'


def _html_row(row: tuple[str, str]) -> str:
    style = "text-align: left; padding: 0.1em 1.2em 0.1em 0; background: none"
    cells = [f'<td style="{style}">{_inline(text)}</td>' for text in row]
    return f"<tr>{''.join(cells)}</tr>"


def _inline(sentence: str) -> str:
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(sentence))
