"""The rooms of numba_simt: which imports which, how much lies in one, and what else is needed.

Imports count wherever they stand, inside functions too.
"""

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import numba_simt

PACKAGE = Path(numba_simt.__file__).parent
MOST = 20  # modules that lie in a folder
FLOORS = {  # a room imports from those below it; modules of no room lie on the ground, or on top
    "reading": 1,
    "execution": 1,
    "extensions": 1,
    "instructions": 2,
    "callables": 3,
    "translation": 4,
    "launching": 5,
    "libraries": 6,
    "profiling": 6,
    "watching": 7,
    "reports": 8,
    "command": 10,  # above `cuda`, which it puts in numba.cuda's place
}
TOP = ("__init__", "cuda", "cudadrv", "cupy", "random")
PLUGIN = "numba_simt.command.pytest_plugin"  # which pytest itself imports, and nobody else
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}


def imported(path: Path) -> set[str]:
    """The modules that a file imports: "numpy", "numba_simt.reading.source"."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "__version__":  # a word, which the front door happens to have
                    continue
                name = f"{node.module}.{alias.name}"
                found.add(name if name in MODULES else node.module)
    return found


def floor(name: str) -> int:
    """On which floor a module of numba_simt lies."""
    _, *room, leaf = f"{name}.__init__".split(".") if name == "numba_simt" else name.split(".")
    if leaf == "__main__":
        return FLOORS["command"] + 1
    return FLOORS[room[0]] if room else (FLOORS["command"] - 1) * (leaf in TOP)


def test_a_room_imports_only_from_the_floors_below():
    for name, path in MODULES.items():
        if path.name == "__init__.py":
            continue
        room = path.parent
        for other in imported(path) & MODULES.keys():
            same = MODULES[other].parent == room
            assert same or floor(other) < floor(name), f"{name} imports {other}"


def test_no_modules_import_each_other_in_a_circle():
    TopologicalSorter(
        {name: imported(path) & MODULES.keys() for name, path in MODULES.items()}
    ).prepare()


def test_numpy_and_numba_are_all_it_needs():
    for name, path in MODULES.items():
        others = {one.partition(".")[0] for one in imported(path)} - sys.stdlib_module_names
        pytests_own = {"pytest"} if name == PLUGIN else set()
        assert others <= {"numpy", "numba", "numba_simt"} | pytests_own, name


def test_no_room_is_full():
    for room in {path.parent for path in MODULES.values()}:
        found = [path.name for path in room.glob("*.py") if path.name != "__init__.py"]
        assert len(found) <= MOST, f"{room} has {len(found)} modules: make a room of some"
