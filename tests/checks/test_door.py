"""What watches an answer lies behind one door, and knows of the checks only what it runs."""

import ast
from pathlib import Path

import pytest

CHECKS = Path(__file__).resolve().parents[2] / "labkit" / "checks"
DOOR = "labkit.checks.watch"


def imported_modules(path):
    """Dotted names of the modules that a file imports from."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return found


@pytest.mark.parametrize(
    "path", sorted({*CHECKS.rglob("*.py")} - {*CHECKS.glob("watch/*")}), ids=lambda path: path.name
)
def test_the_checks_go_through_the_door(path):
    behind = {name for name in imported_modules(path) if name.startswith(f"{DOOR}.")}
    assert not behind, f"import from {DOOR} alone"


@pytest.mark.parametrize("path", sorted(CHECKS.glob("watch/*.py")), ids=lambda path: path.name)
def test_who_watches_does_not_judge(path):
    checks = {name for name in imported_modules(path) if name.startswith("labkit.checks")}
    others = {name for name in checks if not name.startswith(f"{DOOR}.")}
    assert others <= {"labkit.checks.items", "labkit.checks.expected"}
