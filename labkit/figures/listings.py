"""Lines of a program with their numbers, one of them marked, in the colours of the reader's theme.

figures.listing(text, "systemverilog", mark=2)

    1 | assign next = count + 1;
  > 2 | always_ff @(posedge clk) count <= next
    3 | endmodule

The numbers and the mark are part of the plain text, so that nothing is said by colour alone. The
colours are those in which JupyterLab shows a cell, and elsewhere of mid brightness. What colours
the text, Pygments, comes with every notebook, and is loaded only there.
"""

import re
from html import escape

from labkit.figures.style import in_notebook

LANGUAGES = {  # the lexer of Pygments: its module, its class
    "python": ("pygments.lexers.python", "PythonLexer"),
    "systemverilog": ("pygments.lexers.hdl", "SystemVerilogLexer"),
}
_NUMBERED = re.compile(r"(?P<gutter>  [ >] *\d+ \| ?)(?P<code>.*)")
_COLOURS = {  # a kind of token: JupyterLab's name of the colour, and the one for other pages
    "Comment": ("comment", "#7a8a8a"),
    "Keyword": ("keyword", "#2e8b4f"),
    "Literal.Number": ("number", "#2e8b6f"),
    "Literal.String": ("string", "#c0554d"),
    "Operator": ("operator", "#9c4fd0"),
}
_GUTTER = "color: #8a8a8a; user-select: none"  # so that a copy of the lines is code
_BLOCK = (
    "margin: 0.3em 0; white-space: pre; overflow-x: auto; background: none; line-height: 1.3; "
    "font-family: var(--jp-code-font-family, monospace); font-size: var(--jp-code-font-size, 13px)"
)
_MARKED = "background: rgba(224, 133, 27, 0.25)"


def listing(text: str, language: str, mark: int | None = None) -> None:
    """Shows a text with numbered lines: as HTML with a plain-text twin, elsewhere as plain text.

    text      whose first line has the number 1, also where that line is empty
    language  a key of LANGUAGES
    mark      the number of a line to point out
    """
    lines = numbered(text, mark=mark)
    if not in_notebook():
        print(lines)
        return
    from IPython.display import display

    display({"text/html": as_html(lines, language), "text/plain": lines}, raw=True)


def numbered(text: str, shown: range | None = None, mark: int | None = None) -> str:
    """The lines of `text` behind their numbers, without empty ones at either end.

    shown   the numbers of the lines that are wanted, counted from 1; without it, all
    mark    the number of the line that gets a `>`; it is kept even where it is empty
    """
    kept = []
    for number, line in enumerate(text.expandtabs(4).splitlines(), start=1):
        if shown is None or number in shown:
            kept.append((number, line.rstrip()))
    while kept and not kept[0][1] and kept[0][0] != mark:
        kept.pop(0)
    while kept and not kept[-1][1] and kept[-1][0] != mark:
        kept.pop()
    if not kept:
        return ""
    width = len(str(kept[-1][0]))
    lines = []
    for number, line in kept:
        pointer = ">" if number == mark else " "
        lines.append(f"  {pointer} {number:>{width}} | {line}".rstrip())
    return "\n".join(lines)


def is_numbered(line: str) -> bool:
    """Whether a line is one that `numbered` wrote."""
    return _NUMBERED.fullmatch(line) is not None


def as_html(lines: str, language: str) -> str:
    """What `numbered` gave, as one `pre` in which tokens are coloured and the mark stands out."""
    parts = [_NUMBERED.fullmatch(line).groups() for line in lines.splitlines()]
    shown = []
    coloured = highlighted("\n".join(code for _, code in parts), language)
    for (gutter, _), code in zip(parts, coloured, strict=True):
        row = f'<span style="{_GUTTER}">{escape(gutter)}</span>{code}'
        shown.append(f'<span style="{_MARKED}">{row}</span>' if ">" in gutter else row)
    return f'<pre style="{_BLOCK}">' + "\n".join(shown) + "</pre>"


def highlighted(text: str, language: str) -> list[str]:
    """Each line of `text` as HTML; plain where Pygments is not installed."""
    try:
        lexer = _lexer(language)
    except ImportError:
        return [escape(line) for line in text.split("\n")]
    html = []
    for kind, value in lexer.get_tokens(text):
        colour = _colour(str(kind).removeprefix("Token."))
        pieces = [_span(piece, colour) for piece in value.split("\n")]  # no span crosses a line
        html.append("\n".join(pieces))
    return "".join(html).removesuffix("\n").split("\n")


def _lexer(language: str) -> object:
    from importlib import import_module

    module, name = LANGUAGES[language]
    lexer = getattr(import_module(module), name)
    return lexer(stripnl=False, ensurenl=True)


def _colour(kind: str) -> str | None:
    for beginning, (name, elsewhere) in _COLOURS.items():
        if kind.startswith(beginning):
            return f"var(--jp-mirror-editor-{name}-color, {elsewhere})"
    return None


def _span(text: str, colour: str | None) -> str:
    if colour is None or not text.strip():
        return escape(text)
    return f'<span style="color: {colour}">{escape(text)}</span>'
