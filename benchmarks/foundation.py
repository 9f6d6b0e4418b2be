"""What the foundation promises, measured or counted in one run: `make bench`.

Each row has its provenance word and its device. Limits are on counts, and on ratios whose two sides
are measured here and now; seconds only inform (table.py). How long each lesson runs is told by
`labkit verify`, how long `check` takes by checks.py. Results go to results/foundation.json.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

os.environ.update(LABKIT_PROGRESS="off", LABKIT_OFFLINE="1")

from table import Row, medians, ratio, report, seconds

from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.execute import execute
from labkit.course.source.lesson import Lesson
from labkit.course.source.twins import twins
from labkit.provenance import counted, measured

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("torch", "tensorflow", "numba", "jax", "pynq", "matplotlib")


def python(*arguments: str, **environment: str) -> str:
    """What a fresh interpreter prints; raises CalledProcessError when it fails."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def imports() -> Iterator[Row]:
    """`import labkit` in a fresh interpreter, beside interpreters that import less."""
    for statement, other, limit in (
        ("import labkit", "pass", 2),
        ("from labkit import check, predict, hint, quiz, doctor", "import numpy", 3),
    ):
        whole, less = medians(lambda s=statement: python("-c", s), lambda o=other: python("-c", o))
        yield Row(f"{other}, whole process", less)
        yield Row(f"{statement}, whole process", whole, goal=0.3)
        yield ratio("  beside it", whole, less, limit)
        heavy = python("-c", f"import sys; {statement}; print(*set({HEAVY}) & set(sys.modules))")
        loaded = counted(len(heavy.split()), "modules", "sys.modules")
        yield Row(f"  of {', '.join(HEAVY)}, loaded", loaded, 0)


def compiler() -> Iterator[Row]:
    """A report on the fastest matmul: nearly all of it is NVIDIA's compiler."""
    from labkit.gpu import compile_report
    from labkit.gpu.kernels.matmul import plan_matmul

    kernel, matrix = plan_matmul(512, 512).kernel, "float32[:, ::1]"
    signature = f"void({matrix}, {matrix}, {matrix}, int64, int64, int64)"
    try:
        compile_report(kernel, signature)  # loads the compiler
    except ImportError as error:
        print(f"(compile_report is not measured: {error})")
        return
    (taken,) = medians(lambda: compile_report(kernel, signature))
    yield Row("compile_report of a matmul", taken, goal=1.5)


def first_lesson(folder: Path) -> Lesson:
    """The first lesson of the course in a folder, read anew."""
    return Course(config(folder)).lessons()[0]


def builds() -> Iterator[Row]:
    """`labkit build` in a copy of the course: unchanged, and after the code of a lesson changed.

    The lesson is the first one; what a build adds to running it twice is the same for each.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(ROOT / "chapters", copy / "chapters")
        shutil.copytree(ROOT / "labkit", copy / "labkit")
        for file in ROOT.glob("*.*"):
            if file.is_file():
                shutil.copy(file, copy)

        def build(name: str) -> str:
            return python("-m", "labkit", "build", name, LABKIT_ROOT=str(copy))

        lesson = first_lesson(copy)
        source, name = lesson.path, lesson.name
        build(name)  # brings the copy up to date, whatever the state of the course
        (unchanged,) = medians(lambda: build(name))
        yield Row(f"labkit build {name}, unchanged", unchanged, goal=1.0)
        with source.open("a", encoding="utf-8") as end:
            end.write("\n# %%\nprint('one cell more')\n")
        changed = twins(first_lesson(copy), config(copy))
        runs = [seconds(lambda notebook=notebook: execute(notebook)) for notebook in changed]
        twice = measured(sum(map(float, runs)), "s")
        said = []
        taken = seconds(lambda: said.append(build(name)))
        if "executed" not in said[0]:
            raise SystemExit(f"the changed lesson was not executed:\n{said[0]}")
        yield Row(f"run {name} twice", twice)
        yield Row(f"labkit build {name}, changed", taken)
        yield ratio("  beside running it twice", taken, twice, 2)


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
    index = json.loads((folder / "index.json").read_text("utf-8"))
    small = cifar10("sample")
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
        faster = float(ours[what]) / rate
        yield Row("  factor between the two", measured(max(faster, 1 / faster), "times"), 4)


def main() -> int:
    """Measure every part and print the table; returns the exit status."""
    parts = imports, compiler, builds, sample, rates
    return report("foundation", chain.from_iterable(part() for part in parts))


if __name__ == "__main__":
    sys.exit(main())
