"""No two modules of labkit, or of a lesson, import each other in a circle, wherever it stands."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.project.test_floors import LESSONS, ROOT


def modules() -> dict[str, Path]:
    """Dotted names of all modules of labkit and of the lessons, with their files."""
    found = {}
    for path in (ROOT / "labkit").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    for path in LESSONS:
        chapter, _, *parts = path.relative_to(ROOT / "chapters").with_suffix("").parts
        name = ".".join(["labkit_lessons", chapter[3:], *parts])
        found[name.removesuffix(".__init__")] = path
    return found


def imported(tree: ast.AST, known: set[str]) -> set[str]:
    """The modules that code imports, also inside functions and for type checkers."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                names.add(name if name in known else node.module)
    return names & known


def circle(graph: dict[str, set[str]]) -> list[str]:
    """A circle of modules that import each other; [] if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_modules_import_each_other_in_a_circle():
    found = modules()
    graph = {}
    for name, path in found.items():
        tree = ast.parse(path.read_text("utf-8"))
        graph[name] = imported(tree, set(found)) - {name}
    assert circle(graph) == []


@pytest.mark.parametrize(
    "code",
    [
        "import a.b",
        "from a import b",
        "from a.b import thing",
        "def f():\n    from a.b import thing",
        "if TYPE_CHECKING:\n    from a import b",
    ],
)
def test_an_import_is_seen_wherever_it_stands(code):
    assert imported(ast.parse(code), {"a", "a.b"}) == {"a.b"}


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}
