"""Imports as ruff sorts them: one line for each module, in three groups."""

import sys
from collections.abc import Iterable

OWN = ("labkit", "labkit_lessons")


def sorted_imports(texts: Iterable[str]) -> str:
    """The lines of imports: the standard library, then other packages, then labkit.

    texts   "import a", "import a as b" or "from a import b", one name each
    """
    names_from: dict[str, set[str]] = {}
    plain: set[str] = set()
    for text in texts:
        if text.startswith("import "):
            plain.add(text)
        else:
            module, _, name = text.removeprefix("from ").partition(" import ")
            names_from.setdefault(module, set()).add(name)
    lines = sorted(plain)
    for module in sorted(names_from):
        names = ", ".join(sorted(names_from[module]))
        lines.append(f"from {module} import {names}")
    groups: list[list[str]] = [[], [], []]
    for line in lines:
        groups[_group(line)].append(line)
    return "\n\n".join("\n".join(group) for group in groups if group)


def _group(line: str) -> int:
    """The place of an import's group."""
    package = line.split()[1].partition(".")[0]
    if package in sys.stdlib_module_names:
        return 0
    return 2 if package in OWN else 1
