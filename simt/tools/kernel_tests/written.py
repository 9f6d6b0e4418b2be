"""Which tests a file holds, read without importing it."""

import ast
from collections.abc import Iterator
from pathlib import Path


def written(path: Path) -> Iterator[str]:
    """The names of the tests in a file: `TestCase.test`, or `test` alone."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield node.name
        for part in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(part, ast.FunctionDef) and part.name.startswith("test"):
                yield f"{node.name}.{part.name}"
