"""What there is to study: the four chapters, and the lessons that lie in them."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from labkit.course import CourseError, notebook
from labkit.course.config import Config
from labkit.course.lesson import Lesson, load
from labkit.machine_probe import ThisMachine


@dataclass(frozen=True)
class Chapter:
    folder: str
    title: str
    extra: str  # of labkit: what its lessons import
    machine: str = ""  # the kind of accelerator it is about
    runs_on: str = "what the first cell of each lesson says"
    used: bool = False  # whether its lessons use the accelerator where there is one

    def hardware(self, here: ThisMachine) -> str:
        """Whether its accelerator is here; "" for a chapter about none."""
        found = here.accelerators.get(self.machine, "")
        if found:
            return f"{found} here" if self.used else f"{found} here, not used yet"
        return self.machine and f"no {self.machine} here"


CHAPTERS = (
    Chapter("01_gpu", "GPU", "gpu", "CUDA GPU", "the SIMT machine and PyTorch on the CPU", True),
    Chapter("02_tpu", "TPU", "tpu", "TPU"),
    Chapter("03_fpga", "FPGA", "fpga", "Pynq board"),
    Chapter("04_distributed", "Cluster", "distributed"),
)


def sources(config: Config, wanted: str | None = None) -> list[Path]:
    """The sources of all lessons, or of those `wanted` names: a chapter, a lesson or a file."""
    found = sorted(config.chapters.glob("*/source/*.py"))
    if wanted is None:
        return found
    parts = Path(wanted.removesuffix(".ipynb").removesuffix(".py")).parts
    key = "/".join(part for part in parts if part not in ("chapters", "source", "solutions"))
    names = {p: (p.parts[-3], f"{p.parts[-3]}/{p.stem}", p.stem, str(p)) for p in found}
    chosen = [p for p in found if key in names[p] or str(Path(wanted).resolve()) in names[p]]
    if not chosen:
        known = {name for path in found for name in names[path][:2]}
        near = get_close_matches(key, known, cutoff=0.4)
        there = ", ".join(sorted(known)) or "none yet"
        hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {there}."
        raise CourseError(f"There is no lesson or chapter {wanted!r}. {hint}")
    return chosen


def read_lessons(paths: Iterable[Path], config: Config) -> list[Lesson]:
    return [load(path, config.relative(path)) for path in paths]


def readable(config: Config, chapter: Chapter) -> tuple[list[Lesson], list[str]]:
    """A chapter's lessons that a learner can open, and a sentence for each that cannot be read.

    One that is not built yet is neither.
    """
    found, broken = [], []
    for path in sorted((config.chapters / chapter.folder / "source").glob("*.py")):
        try:
            lesson = load(path, config.relative(path))
            made = lesson.notebook("learner")
            notebook.read(made, config.relative(made))
            found.append(lesson)
        except FileNotFoundError:
            continue
        except (CourseError, OSError) as error:
            broken.append(str(error))
    return found, broken
