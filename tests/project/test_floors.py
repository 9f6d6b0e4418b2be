"""The floors of labkit: a room imports only from the floors below it, and slow packages wait.

Imports by name count wherever they stand, and so do imports by string: every constant that is a
dotted name of labkit, such as "labkit.gpu.ladder", and every f-string that begins with one.
`labkit/__init__.py`, the front door, hands out what higher floors have and is exempt.
"""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import labkit

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FLOORS = {  # all other rooms are on the ground floor, 1
    "checks": 2,
    "gpu": 3,
    "tpu": 3,
    "fpga": 3,
    "distributed": 3,
    "course": 4,
    "cli": 4,
    "__main__": 4,
    "labkit_lessons": 5,
}
LESSONS = [  # on the floor above; their tests and the answers that these plant stay in the course
    path
    for path in sorted(ROOT.glob("chapters/*/source/*/**/*.py"))
    if not path.name.startswith(("lesson.", "planted.", "test_"))
]
MODULES = sorted((ROOT / "labkit").rglob("*.py"))
# What is made of PyTorch, TensorFlow or JAX is loaded by whoever asks for it; the board's services
# when its server starts.
TPU = ("compile_worker", "jax_training", "models", "train", "training", "programs")
GPU = ("training/autograd", "training/feeding", "training/pytorch", "training/sgd")
GPU += ("training/tensors", "step_cost")
LATE = {ROOT / "labkit" / "gpu" / f"{name}.py" for name in GPU}
REPORT = ROOT / "labkit" / "gpu" / "report"  # whose sections have processes of their own
LATE |= {REPORT / "timing.py", REPORT / "tasks.py", *(REPORT / "sections").glob("*.py")}
LATE |= {ROOT / "labkit" / "tpu" / f"{name}.py" for name in TPU}
BOARD = ("buffer_service", "device_service", "gpio_service", "mmio_service")
LATE |= {ROOT / "labkit" / "fpga" / "board" / "services" / f"{name}.py" for name in BOARD}
# What runs in the processes of a launch.
RANKS = ("launching/rank", "ddp", "gradients/emulated_compute", "launching/live_bytes")
REFEREED = ("rank", "torch", "work", "messages", "collectives")
RANKS += tuple(f"judging/refereed_{name}" for name in REFEREED)
LATE |= {ROOT / "labkit" / "distributed" / f"{name}.py" for name in RANKS}
ROLES = ("processes/roles", "processes/warm")  # and what runs in those of a cluster
LATE |= {ROOT / "labkit" / "distributed" / "parameter_server" / f"{name}.py" for name in ROLES}
# A model's modules are PyTorch's classes, and nobody imports them for anything else.
MODELS = ("gpt", "tensor_parallel", "pipeline", "sharded", "checkpoints")
LATE |= {
    path
    for path in MODULES
    if path.parent.name in MODELS and path.parent.parent.name == "distributed"
}
# What a lesson of chapter 04 does to such a model, or lets ranks do.
IN_LESSONS = {
    "a_tokens_cost": "cache cache_by_function counted_step generation inference_timing moved_bytes",
    "fine_tuning_and_compilers": "compiled lora onnx_runtime step_memory",
    "hybrid_and_sharded": "collective_calls fsdp2 optimizer pretended trained two_dimensions units "
    "zero",
    "overlap_and_buckets": "batch_norm",
    "pipeline": "torch_runner training",
    "serving": "inference",
    "tensor_parallel": "by_functions training",
}
LATE |= {
    ROOT / "chapters" / "04_distributed" / "source" / lesson / f"{name}.py"
    for lesson, names in IN_LESSONS.items()
    for name in names.split()
}
SOLUTIONS = {path for path in LESSONS if path.name == "solutions.py"}  # loaded when asked for
IMPORTED = [path for path in (*MODULES, *LESSONS) if path not in LATE | SOLUTIONS]
PUBLIC = {"check": "checks", "predict": "checks", "hint": "checks", "quiz": "checks"}
PUBLIC |= {"doctor": "course"}
SLOW = {"torch", "tensorflow", "numba", "jax", "pynq", "matplotlib", "scipy", "IPython"}


def floor(room: str) -> int:
    return FLOORS.get(room, 1)


@cache
def tree_of(path: Path) -> ast.AST:
    """A module's syntax tree, read once."""
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """All nodes of a syntax tree, walked once."""
    return [*ast.walk(tree)]


@cache
def imported(tree: ast.AST) -> set[str]:
    """Every dotted name that code imports, wherever the import stands."""
    names = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def named(tree: ast.AST) -> set[str]:
    """Every dotted name of labkit in a string, as `import_module` would take it; no docstrings."""
    statements = {id(n.value) for n in nodes_of(tree) if isinstance(n, ast.Expr)}
    names = set()
    for node in nodes_of(tree):
        if id(node) in statements:  # a docstring, or a string that does nothing
            continue
        if isinstance(node, ast.JoinedStr) and node.values:
            node = node.values[0]  # f"labkit.gpu.ladder.{lesson}" begins with a constant
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and re.fullmatch(r"labkit(_lessons)?(\.\w+)+[.:]?", text):
            names.add(text.rstrip(".:"))
    return names


def rooms(names: set[str]) -> set[str]:
    """The rooms among imported names: "labkit.checks.ask" and "labkit.hint" -> checks."""
    found = {name.split(".")[1] for name in names if name.startswith("labkit.")}
    if any(name.startswith("labkit_lessons") for name in names):
        found.add("labkit_lessons")
    return {PUBLIC.get(room, room) for room in found}


def above(room: str, names: set[str]) -> set[str]:
    """The rooms that code in `room` may not import, and does."""
    own = floor(room)
    others = rooms(names) - {room}
    return {r for r in others if floor(r) > own or (floor(r) == own and own > 1)}


def refused(room: str, tree: ast.AST) -> set[str]:
    """The rooms that this code, in `room`, imports by name or by string and may not."""
    if floor(room) == 4:
        room = "course"  # cli.py, __main__.py and course/ are one floor and call each other
    return above(room, imported(tree) | named(tree)) - ({"cli"} if room == "course" else set())


def test_a_room_imports_only_from_the_floors_below():
    for path in MODULES:
        room = path.relative_to(ROOT / "labkit").parts[0].removesuffix(".py")
        found = refused(room, tree_of(path)) if room != "__init__" else set()
        assert not found, f"{path}: {room} may not import {', '.join(sorted(found))}"


def test_the_rule_of_the_floors_refuses_what_it_should():
    assert above("checks", {"labkit.course.config", "labkit.reference.linear"}) == {"course"}
    assert above("reference", {"labkit.hint"}) == {"checks"}
    assert above("gpu", {"labkit.tpu.strategy", "labkit.checks.watch.run"}) == {"tpu"}
    assert above("datasets", {"labkit.provenance.counted", "numpy"}) == set()
    assert above("course", {"labkit.fpga.quantize", "labkit.distributed.launch"}) == set()
    assert above("fpga", {"labkit.course.pages.claims"}) == {"course"}
    assert above("distributed", {"labkit.fpga.quantize"}) == {"fpga"}


PLANTED = {  # a line of code, and the room above that it reaches from checks
    'importlib.import_module("labkit.gpu.ladder")': "gpu",
    'import_module("labkit.tpu")': "tpu",
    '__import__("labkit.course.build")': "course",
    'import_module(f"labkit.gpu.ladder.{lesson}")': "gpu",
    'import_module(f"labkit.fpga.{name}")': "fpga",
    'import_module(".exercises", "labkit.distributed")': "distributed",
    'HOMES = {"gpu": "labkit.gpu.ladder"}': "gpu",
    "from labkit_lessons.gpu.tiles import exercises": "labkit_lessons",
    'import_module("labkit_lessons.gpu.tiles.exercises")': "labkit_lessons",
    'home = "labkit.course.pages.claims" if joined else None': "course",
    'run([sys.executable, "-m", "labkit.cli"])': "cli",
    "def late():\n    from labkit.gpu import cuda": "gpu",
    'def late():\n    """A docstring."""\n    return "labkit.gpu.cuda"': "gpu",
}


@pytest.mark.parametrize("code", PLANTED)
def test_an_import_by_string_is_seen(code):
    assert refused("checks", ast.parse(code)) == {PLANTED[code]}


@pytest.mark.parametrize(
    "code",
    [
        '"""As `labkit.gpu.ladder` does."""',
        'def late():\n    """labkit.gpu.cuda"""',
        'raise ValueError("labkit.gpu needs a C compiler.")',
        'import_module("labkit.reference")',
        'import_module(f"labkit.checks.watch.{name}")',
        'import_module(f"{home}.{lesson}")',
        "from labkit import ROOMS",
    ],
)
def test_a_docstring_a_sentence_and_a_road_down_are_allowed(code):
    assert refused("checks", ast.parse(code)) == set()


def test_exercises_are_at_home_in_the_machines_rooms_and_in_the_course():
    for room in labkit.ROOMS:
        assert floor(room) == (4 if room == "course" else 3)


def inside(tree: ast.AST, *kinds: type) -> set[int]:
    """The ids of all nodes that stand in `kinds` of statements, or are for type checkers alone."""
    scopes = [n for n in nodes_of(tree) if isinstance(n, kinds)]
    for node in nodes_of(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            scopes.append(node)
    return {id(node) for scope in scopes for node in ast.walk(scope)}


def imported_by_everybody(tree: ast.AST) -> list[tuple[int, str]]:
    """Line and name of each slow package that whoever imports the module imports, too."""
    found = []
    for node in nodes_of(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            slow = {name.split(".")[0] for name in imported(node)} & SLOW
            found += [(node, name) for name in sorted(slow)]
    late = inside(tree, ast.FunctionDef, ast.AsyncFunctionDef) if found else ()
    return [(node.lineno, name) for node, name in found if id(node) not in late]


def test_slow_packages_are_imported_only_where_they_are_used():
    for path in IMPORTED:
        found = imported_by_everybody(tree_of(path))
        assert not found, f"{path}, (line, package) imported for everybody: {found}"


def test_a_slow_import_outside_of_functions_is_seen():
    code = "import numpy, torch.nn\ndef f():\n    import jax\nif True:\n    from numba import njit"
    assert imported_by_everybody(ast.parse(code)) == [(1, "torch"), (5, "numba")]


def test_importing_labkit_loads_nothing_slow():
    code = f"import sys, labkit; print(*sorted({SLOW | {'numpy'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_machine_without_a_kernel_loads_nothing_slow():
    code = "import sys, labkit_lessons.gpu.memory_and_warps.exercises"
    code += "; from labkit.gpu import cuda, profile"
    code += f"; print(*sorted({SLOW} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_what_labkit_imports_is_declared():
    lists = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    declared = {Requirement(r).name.lower() for asked in lists for r in asked}
    package = {
        "numba_simt": "numba-simt",
        "ml_dtypes": "ml-dtypes",
        "cocotb_tools": "cocotb",
        "PIL": "pillow",
        "yaml": "pyyaml",
        "IPython": "ipykernel",
    }
    package |= {"grpc": "pynq", "triton": "torch"}  # which bring them
    package |= {
        "jupyter_client": "nbclient",
        "jupyter_server": "jupyterlab",
        "jupyter_core": "jupyterlab",
        "zmq": "ipykernel",
    }
    for path in (*MODULES, *LESSONS):
        used = {name.split(".")[0] for name in imported(tree_of(path))}
        used -= set(sys.stdlib_module_names) | {"labkit", "labkit_lessons"}
        used -= {"google"}  # google.colab, which only Colab has
        undeclared = {name for name in used if package.get(name, name) not in declared}
        assert not undeclared, f"{path.relative_to(ROOT)} imports {undeclared}, which no list has"
