"""What the foundation promises in seconds and bytes, measured in one run: `make bench`.

Each row has its limit beside it, its provenance word and its device; a comparison has both sides
measured here and now. Results go to benchmarks/results/foundation.json as well. The exit code is 1
when a limit is passed. These are no tests: on a machine that is busy a limit may be passed.
"""

import contextlib
import io
import json
import os
import runpy
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

os.environ.update(LABKIT_PROGRESS="off", LABKIT_OFFLINE="1")

from labkit import check
from labkit.checks.exercise import Exercise
from labkit.checks.registry import registry
from labkit.course import notebook
from labkit.course.build import read_lessons, sources
from labkit.course.config import config
from labkit.course.execute import execute
from labkit.course.lesson import TWINS, Lesson
from labkit.hardware import this_machine
from labkit.provenance import Quantity, counted, measured

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "foundation.json"
HEAVY = ("torch", "tensorflow", "numba", "jax", "pynq", "matplotlib")
LESSON_SECONDS = {"01_gpu/1_gradients_and_convolutions": 30.0}  # others: the design's ceiling of 60


@dataclass(frozen=True)
class Row:
    """One measurement; `limit` in the quantity's own unit, None where it is there to compare."""

    what: str
    quantity: Quantity
    limit: float | None = None

    @property
    def ok(self) -> bool:
        return self.limit is None or float(self.quantity) <= self.limit

    def __str__(self) -> str:
        limit = "" if self.limit is None else replace(self.quantity, value=self.limit).number
        verdict = "" if self.limit is None else "ok" if self.ok else "TOO MUCH"
        return f"{self.what:<72} {self.quantity.number:>9} {limit:>9}  {verdict}"

    @property
    def unit(self) -> str:
        return self.quantity.unit


def seconds(run: Callable[[], object]) -> Quantity:
    start = time.perf_counter()
    run()
    return measured(time.perf_counter() - start, "s")


def python(*arguments: str, **environment: str) -> str:
    """What a fresh interpreter prints; raises CalledProcessError when it fails."""
    command = [sys.executable, *arguments]
    env = {**os.environ, **environment}
    return subprocess.run(
        command, cwd=ROOT, env=env, check=True, capture_output=True, text=True
    ).stdout


def median(run: Callable[[], Quantity], times: int = 7) -> Quantity:
    return measured(statistics.median(float(run()) for _ in range(times)), "s")


def imports() -> Iterator[Row]:
    """`import labkit` in a fresh interpreter, beside an interpreter that imports nothing."""
    yield Row(
        "python -c pass, whole process", median(lambda: seconds(lambda: python("-c", "pass")))
    )
    for statement in ("import labkit", "from labkit import check, predict, hint, quiz, doctor"):
        whole = median(lambda s=statement: seconds(lambda: python("-c", s)))
        yield Row(f"{statement}, whole process", whole)
        timed = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
        alone = median(lambda t=timed: measured(float(python("-c", t)), "s"))
        yield Row(f"{statement}, alone", alone, 0.3 if statement == "import labkit" else None)
        heavy = python("-c", f"import sys; {statement}; print(*set({HEAVY}) & set(sys.modules))")
        loaded = counted(len(heavy.split()), "modules", "sys.modules")
        yield Row(f"  of {', '.join(HEAVY)}, loaded", loaded, 0)


def endless(*args: object, **kwargs: object) -> None:
    while True:
        pass


def answers() -> Iterator[Row]:
    """Each exercise: the answer to a right function, to a wrong one, to one that never returns."""
    files = [
        runpy.run_path(str(p)) for p in sorted((ROOT / "tests/exercises/planted").glob("*.py"))
    ]
    solved = {id: f for file in files for id, f in file["SOLVED"].items()}
    planted = {id: plants[0][0] for file in files for id, plants in file["PLANTED"].items()}
    never_ending = {id: f for file in files for id, f in file.get("ENDLESS", {}).items()}
    for exercise in registry().of(Exercise):
        never = never_ending.get(exercise.id, endless)
        kinds = {"right": solved[exercise.id], "wrong": planted[exercise.id], "endless": never}
        for kind, function in kinds.items():
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                time_taken = seconds(lambda f=function, id=exercise.id: check(id, f))
            if ("Right" in said.getvalue()) != (kind == "right"):
                raise SystemExit(
                    f"{exercise.id}: the {kind} function was answered:\n{said.getvalue()}"
                )
            yield Row(f"check({exercise.id!r}), {kind}", time_taken, 1.0)


def run_lesson(lesson: Lesson, twin: str, folder: Path) -> Quantity:
    generated = notebook.generate(lesson, twin, config())
    return seconds(lambda: execute(generated, folder, f"{lesson.name} ({twin})"))


def lessons() -> Iterator[Row]:
    """Every lesson and its solution, from a fresh kernel to its last cell."""
    course = read_lessons(sources(config()), config())
    if unknown := LESSON_SECONDS.keys() - {lesson.name for lesson in course}:
        raise SystemExit(f"LESSON_SECONDS limits what is no lesson: {', '.join(unknown)}.")
    for lesson in course:
        for twin in TWINS:
            with tempfile.TemporaryDirectory() as folder:
                taken = run_lesson(lesson, twin, Path(folder))
            limit = LESSON_SECONDS.get(lesson.name, 60.0)
            yield Row(f"run {lesson.name}, {twin}", taken, limit)


def builds() -> Iterator[Row]:
    """`labkit build` in a copy of the course: unchanged, and after the code of a lesson changed."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(ROOT / "chapters", copy / "chapters")
        shutil.copytree(ROOT / "labkit", copy / "labkit")
        for file in ROOT.glob("*.*"):
            if file.is_file():
                shutil.copy(file, copy)

        def build(*wanted: str) -> str:
            return python("-m", "labkit", "build", *wanted, LABKIT_ROOT=str(copy))

        for source in sources(config(copy)):
            lesson = read_lessons([source], config(copy))[0]
            first = build(
                lesson.name
            )  # brings the copy up to date, whatever the state of the course
            unchanged = median(lambda name=lesson.name: seconds(lambda: build(name)), 5)
            yield Row(f"labkit build {lesson.name}, unchanged", unchanged, 1.0)
            with source.open("a", encoding="utf-8") as end:
                end.write("\n# %%\nprint('one cell more')\n")
            changed = read_lessons([source], config(copy))[0]
            twice = sum(float(run_lesson(changed, twin, copy)) for twin in TWINS)
            start = time.perf_counter()
            said = build(lesson.name)
            taken = measured(time.perf_counter() - start, "s")
            if "executed" not in said:
                raise SystemExit(f"the changed lesson was not executed:\n{first}{said}")
            yield Row(f"run {lesson.name} twice", measured(twice, "s"))
            yield Row(f"labkit build {lesson.name}, changed", taken, twice + 5)


def sample() -> Iterator[Row]:
    """The embedded images: their size, and the pixels that differ from the full set's."""
    folder = ROOT / "labkit" / "data" / "cifar10"
    size = sum(path.stat().st_size for path in folder.iterdir())
    yield Row("embedded sample of CIFAR-10", counted(size, "B", "the file system"), 7e6)
    from labkit.cifar10_files import read_copy
    from labkit.datasets import cifar10

    by = "comparison with the full set"
    try:
        if copy := os.environ.get("LABKIT_FULL_CIFAR10"):
            full = read_copy(copy)
        else:
            kept = cifar10("full")
            full = kept.train, kept.test
    except (ValueError, OSError) as error:
        print(f"({error})")
        yield Row("  not compared with the full set, which is not here", counted(0, "values", by))
        return
    index, small = json.loads((folder / "index.json").read_text("utf-8")), cifar10("sample")
    values = wrong = 0
    for name, whole, part in zip(("train", "test"), full, (small.train, small.test), strict=True):
        chosen = index[name]["indices"]
        values += part.images.size + part.labels.size
        wrong += int((part.images != whole.images[chosen]).sum())
        wrong += int((part.labels != whole.labels[chosen]).sum())
    yield Row("  its pixels and labels compared with the full set", counted(values, "values", by))
    yield Row("  of them, those that differ", counted(wrong, "values", by), 0)


def rates() -> Iterator[Row]:
    """This machine's two limits as labkit measures them, beside PyTorch doing the same work."""
    import torch

    from labkit.hardware import measure_this_machine

    def fastest(work: Callable[[], object]) -> float:
        work()
        return min(float(seconds(work)) for _ in range(10))

    a, b = torch.rand(2, 1024, 1024)
    x = torch.ones(2**26)  # 256 MiB
    y = torch.empty_like(x)
    theirs = {
        "fp32 product": 2 * 1024**3 / fastest(lambda: a @ b),
        "copy": 2 * x.nbytes / fastest(lambda: y.copy_(x)),
    }
    loaded = sys.modules.pop("torch")  # or its convolution, which is faster, would be the peak
    here = measure_this_machine()
    sys.modules["torch"] = loaded
    ours = {"fp32 product": here.peak["fp32"], "copy": here.bandwidth}
    for what, rate in theirs.items():
        yield Row(f"{what}, by labkit", ours[what])
        yield Row(f"{what}, by PyTorch", measured(rate, ours[what].unit))
        ratio = float(ours[what]) / rate
        yield Row("  factor between the two", measured(max(ratio, 1 / ratio), "times"), 4)


def main() -> int:
    here = this_machine()
    load = os.getloadavg()[0]
    print(f"Measured on {here.name}, {here.os}, Python {here.python}; load before: {load:.1f}\n")
    print(f"{'':<72} {'result':>9} {'limit':>9}")
    rows = []
    for part in (imports, answers, lessons, builds, sample, rates):
        for row in part():
            print(row, flush=True)
            rows.append(row)
    failed = [row for row in rows if not row.ok]
    entries = [
        {
            "what": row.what.strip(),
            "value": float(row.quantity),
            "unit": row.unit,
            "provenance": f"{row.quantity.word}: {row.quantity.source}",
            "limit": row.limit,
            "ok": row.ok,
        }
        for row in rows
    ]
    result = {
        "device": here.name,
        "system": here.os,
        "python": here.python,
        "load": round(load, 1),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "rows": entries,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    print(
        f"\n{len(rows)} rows, {len(failed)} past their limit; {RESULTS.relative_to(ROOT)} written"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
