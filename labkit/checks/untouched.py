"""Whether an answer is still what its lesson's notebook had at first: then nobody has tried yet.

stubs.toml, which `labkit build` writes, has the digest of each exercise's first text.
"""

import hashlib
import inspect
import textwrap
import tomllib
from functools import cache
from pathlib import Path

STUBS = Path(__file__).with_name("stubs.toml")


def is_untouched(id: str, answer: object) -> bool:
    """Whether the answer to an exercise is the function, the kernel or the text of its stub."""
    text = answer if isinstance(answer, str) else _source_of(answer)
    return text is not None and _stubs().get(id) == digest(text)


def digest(text: str) -> str:
    """Of a function's or a module's text, blank lines and whole lines of comment apart."""
    lines = [line.rstrip() for line in textwrap.dedent(text).splitlines()]
    code = [line for line in lines if line and not line.lstrip().startswith("#")]
    return hashlib.sha256("\n".join(code).encode()).hexdigest()[:16]


def _source_of(answer: object) -> str | None:
    """The text of a function, or of the one that a kernel was made of."""
    try:
        return inspect.getsource(getattr(answer, "py_func", answer))
    except (OSError, TypeError):  # made in another way than by a `def` in a cell
        return None


@cache
def _stubs() -> dict[str, str]:
    if not STUBS.is_file():
        return {}
    return tomllib.loads(STUBS.read_text(encoding="utf-8"))
