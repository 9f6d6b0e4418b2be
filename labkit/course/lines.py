"""`labkit lines`: the lines of Python in each room of labkit, for information.

"code" leaves out blank lines, comments and docstrings.
"""

import ast
import io
import tokenize
from collections import Counter

from labkit.course.config import Config

GROUND = "ground floor"  # the modules that lie directly in labkit/
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
_NO_CODE |= {tokenize.ENDMARKER}


def lines(config: Config) -> int:
    """Print lines per room, `data/` left out; always 0, for there is no limit."""
    package = config.course_root() / "labkit"
    code: Counter[str] = Counter()
    every: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        first, *inner = path.relative_to(package).parts
        room = first if inner else GROUND
        if room == "data":
            continue
        text = path.read_text(encoding="utf-8")
        code[room] += code_lines(text)
        every[room] += len(text.splitlines())
    print(f"{'':<14} {'code':>7} {'all':>7}")
    for room in sorted(every):
        print(f"{room:<14} {code[room]:>7,} {every[room]:>7,}")
    print(f"{'together':<14} {code.total():>7,} {every.total():>7,}")
    return 0


def code_lines(source: str) -> int:
    """How many lines of Python are neither blank nor a comment nor part of a docstring."""
    lone = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr))
    docstrings = [n for n in lone if isinstance(getattr(n.value, "value", None), str)]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    spans = [(t.start[0], t.end[0]) for t in tokens if t.type not in _NO_CODE]
    code = {line for first, last in spans for line in range(first, last + 1)}
    code -= {line for d in docstrings for line in range(d.lineno, d.end_lineno + 1)}
    text = source.splitlines()
    return sum(bool(text[line - 1].strip()) for line in code)
