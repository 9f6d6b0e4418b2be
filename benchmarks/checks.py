"""How long `check` takes for a right answer, a wrong one, and one that never ends: `make bench`.

    python benchmarks/checks.py                   every exercise
    python benchmarks/checks.py --beside FOLDER   beside another checkout of the course, in turn
    python benchmarks/checks.py matmul            only exercises with this in their id

Every answer is also read: a right one that is refused, a wrong one that passes, or an endless one
that is not told so ends the benchmark. Seconds only inform; results for all exercises go to
results/checks.json.

With --beside, a child process for each checkout is asked in turn about the same answers, which are
this checkout's. Ratios are of medians, ours over theirs; the exit code is 1 when all exercises
together take LIMIT times as long as there. Nothing is stored.
"""

import argparse
import contextlib
import importlib.util
import io
import json
import os
import re
import runpy
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType

os.environ.update(LABKIT_PROGRESS="off", LABKIT_OFFLINE="1")

ROOT = Path(__file__).resolve().parent.parent
EDITS = ROOT / "tests" / "exercises" / "edits.py"
GOALS = {"right": 1.0, "wrong": 1.0, "endless": 5.0}  # seconds
LIMIT = 1.25  # times as long as the other checkout
ROUNDS = 5
ENDLESS = re.compile(r"endless|for ever|never ends|never returns", re.IGNORECASE)


def endless(*args: object, **kwargs: object) -> None:
    while True:
        pass


def answers(kind: str) -> dict[str, Callable]:
    """For each exercise an answer of this kind, made anew: nothing of it is compiled yet.

    A kernel is endless only where one is planted, and a module in SystemVerilog never is.
    """
    edits = solutions_of_this_checkout()
    found = {}
    for path in sorted(ROOT.glob("chapters/*/source/*/planted.py")):
        planted = runpy.run_path(str(path))
        for id, plants in planted["PLANTED"].items():
            if kind == "right":
                found[id] = edits.solution(id)
            elif kind == "wrong":
                found[id], _ = plants[0]
            elif id in planted.get("ENDLESS", {}):
                found[id] = planted["ENDLESS"][id]
            elif isinstance(edits.solution(id), FunctionType):
                found[id] = endless
    return found


def solutions_of_this_checkout() -> ModuleType:
    """tests.exercises.edits from this checkout, also where labkit comes from another."""
    name = "tests.exercises.edits"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, EDITS)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def ask(id: str, answer: Callable) -> tuple[float, str]:
    """The seconds that `check` takes, and what it says."""
    from labkit import check

    said = io.StringIO()
    start = time.perf_counter()
    with contextlib.redirect_stdout(said):
        check(id, answer)
    return time.perf_counter() - start, " ".join(said.getvalue().split())


def as_it_should_be(kind: str, said: str) -> bool:
    right = "Right" in said
    if kind == "endless":
        return not right and bool(ENDLESS.search(said))
    return right == (kind == "right")


def rows(words: str) -> Iterator:
    """Each exercise with each kind of answer, once: as in a notebook just opened."""
    from table import Row

    from labkit.provenance import measured

    made = {kind: answers(kind) for kind in GOALS}
    for id in made["right"]:
        if words not in id:
            continue
        for kind, goal in GOALS.items():
            if id not in made[kind]:
                continue
            seconds, said = ask(id, made[kind][id])
            if not as_it_should_be(kind, said):
                raise SystemExit(f"{id}: the {kind} answer was told:\n{said}")
            yield Row(f"check({id!r}), {kind}", measured(seconds, "s"), goal=goal)


# --- beside another checkout ---


def child() -> None:
    """Answer lines `[id, kind]` on stdin with lines `[seconds, as it should be]` on stdout."""
    import labkit

    if not Path(labkit.__file__).is_relative_to(Path.cwd()):
        raise SystemExit(f"{labkit.__file__} would be timed, which is not in {Path.cwd()}.")
    for line in sys.stdin:
        id, kind = json.loads(line)
        seconds, said = ask(id, answers(kind)[id])
        print(json.dumps([seconds, as_it_should_be(kind, said)]), flush=True)


class Checkout:
    """A process that has imported labkit from one folder."""

    def __init__(self, folder: Path) -> None:
        if not (folder / "labkit" / "__init__.py").is_file():
            raise SystemExit(f"{folder} is no checkout of the course: it has no labkit.")
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--child"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, id: str, kind: str) -> float | None:
        """None if the answer is not told what it should be told."""
        print(json.dumps([id, kind]), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"The process in {self.folder} ended at {id}, {kind}.")
        seconds, right = json.loads(answer)
        return seconds if right else None


def beside(folder: Path, words: str) -> int:
    """Print both checkouts' times; 1 if all exercises together take LIMIT times as long here."""
    here, there = Checkout(ROOT), Checkout(folder)
    slower = False
    print(f"{'':<40} {'here':>9} {'there':>9} {'ratio':>6}")
    for kind in ("right", "wrong"):
        ours, theirs = 0.0, 0.0
        for id in answers(kind):
            if words not in id:
                continue
            both = medians(here, there, id, kind)
            if both is None:
                print(f"{id + ', ' + kind:<40} not compared: it is not told the same")
                continue
            print(line(f"{id}, {kind}", *both))
            ours += both[0]
            theirs += both[1]
        if theirs:
            print(line(f"together, {kind}", ours, theirs) + "\n")
            slower |= ours > LIMIT * theirs
    return 1 if slower else 0


def medians(here: Checkout, there: Checkout, id: str, kind: str) -> tuple[float, float] | None:
    """Seconds here and there, asked in turn. The first answers warm up and do not count."""
    times = []
    for _ in range(1 + ROUNDS):
        both = here.seconds(id, kind), there.seconds(id, kind)
        if None in both:
            return None
        times.append(both)
    ours, theirs = zip(*times[1:], strict=True)
    return statistics.median(ours), statistics.median(theirs)


def line(what: str, ours: float, theirs: float) -> str:
    return f"{what:<40} {1e3 * ours:>6.0f} ms {1e3 * theirs:>6.0f} ms {ours / theirs:>6.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="?", default="", help="only exercises with this in their id")
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="another checkout")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child()
        return 0
    if options.beside:
        return beside(options.beside.resolve(), options.words)
    from table import report

    return report(None if options.words else "checks", rows(options.words))


if __name__ == "__main__":
    sys.exit(main())
