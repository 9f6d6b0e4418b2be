"""The floors of labkit: a room imports only from the floors below it, and slow packages wait."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FLOORS = {"checks": 2, "gpu": 3, "tpu": 3, "fpga": 3, "distributed": 3}
FLOORS |= {"course": 4, "cli": 4, "__main__": 4}
MODULES = sorted((ROOT / "labkit").rglob("*.py"))
# The compiler of kernels is loaded with the first kernel, and what is made of PyTorch, TensorFlow
# or JAX by whoever asks for it.
LATE = [
    "arithmetic",
    "calls",
    "frontend",
    "functions",
    "inlining",
    "intrinsics",
    "library",
    "loops",
    "names",
    "python_functions",
    "signatures",
    "statements",
    "typing_rules",
    "variables",
    "views",
    "warps",
]
TPU = ("compile_worker", "jax_training", "models", "train", "training", "programs")
LATE = {ROOT / "labkit" / "gpu" / "simt" / f"{name}.py" for name in LATE}
GPU = ("autograd", "feeding", "step_costs", "tensors")
LATE |= {ROOT / "labkit" / "gpu" / f"{name}.py" for name in GPU}
LATE |= {ROOT / "labkit" / "tpu" / f"{name}.py" for name in TPU}
IMPORTED = [path for path in MODULES if path not in LATE]
PUBLIC = {"check": "checks", "predict": "checks", "hint": "checks", "quiz": "checks"}
PUBLIC |= {"doctor": "course"}
SLOW = {"torch", "tensorflow", "numba", "jax", "pynq", "matplotlib", "scipy", "IPython"}


def floor(room: str) -> int:
    return FLOORS.get(room, 1)


def imported(tree: ast.AST) -> set[str]:
    """Every dotted name that code imports, wherever the import stands."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def rooms(names: set[str]) -> set[str]:
    """The rooms among imported names: "labkit.checks.ask" and "labkit.hint" -> checks."""
    found = {name.split(".")[1] for name in names if name.startswith("labkit.")}
    return {PUBLIC.get(room, room) for room in found}


def above(room: str, names: set[str]) -> set[str]:
    """The rooms that code in `room` may not import, and does."""
    own = floor(room)
    others = rooms(names) - {room}
    return {r for r in others if floor(r) > own or (floor(r) == own and own > 1)}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_room_imports_only_from_the_floors_below(path):
    room = path.relative_to(ROOT / "labkit").parts[0].removesuffix(".py")
    if room == "__init__":
        return
    if floor(room) == 4:
        room = "course"  # cli.py, __main__.py and course/ are one floor and call each other
    names = imported(ast.parse(path.read_text("utf-8")))
    found = above(room, names) - ({"cli"} if room == "course" else set())
    assert not found, f"{room} may not import {', '.join(sorted(found))}"


def test_the_rule_of_the_floors_refuses_what_it_should():
    assert above("checks", {"labkit.course.config", "labkit.reference.linear"}) == {"course"}
    assert above("reference", {"labkit.hint"}) == {"checks"}
    assert above("gpu", {"labkit.tpu.strategy", "labkit.checks.watch.run"}) == {"tpu"}
    assert above("datasets", {"labkit.provenance.counted", "numpy"}) == set()


@pytest.mark.parametrize("path", IMPORTED, ids=lambda p: str(p.relative_to(ROOT)))
def test_slow_packages_are_imported_only_where_they_are_used(path):
    tree = ast.parse(path.read_text("utf-8"))
    inside = {
        id(node)
        for scope in ast.walk(tree)
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(scope, ast.If) and "TYPE_CHECKING" in ast.dump(scope.test))
        for node in ast.walk(scope)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in inside:
            slow = {name.split(".")[0] for name in imported(node)} & SLOW
            assert not slow, f"line {node.lineno} imports {', '.join(slow)} for everybody"


def test_importing_labkit_loads_nothing_slow():
    code = f"import sys, labkit; print(*sorted({SLOW | {'numpy'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_machine_without_a_kernel_loads_nothing_slow():
    code = "import sys, labkit.gpu.exercises.threads_blocks_and_memory"
    code += "; from labkit.gpu import cuda, profile"
    code += f"; print(*sorted({SLOW} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_what_labkit_imports_is_declared():
    lists = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    declared = {Requirement(r).name.lower() for asked in lists for r in asked}
    package = {"PIL": "pillow", "yaml": "pyyaml", "IPython": "ipykernel"}
    package |= {"jupyter_client": "nbclient", "jupyter_server": "jupyterlab"}
    for path in MODULES:
        used = {name.split(".")[0] for name in imported(ast.parse(path.read_text("utf-8")))}
        used -= set(sys.stdlib_module_names) | {"labkit"}
        undeclared = {name for name in used if package.get(name, name) not in declared}
        assert not undeclared, f"{path.relative_to(ROOT)} imports {undeclared}, which no list has"
