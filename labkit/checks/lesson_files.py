"""What an author writes for a lesson: functions in a module, and texts in a file beside it.

In `chapters/01_gpu/source/tiles/`, imported as `labkit_lessons.gpu.tiles`, exercises.py has the
lesson's EXERCISES, and texts.toml its predictions, its quizzes, and what its exercises say: hints,
and a sentence for each wrong idea:

    [exercises."gpu.im2col"]
    hints = ["Where to look.", "Almost the line."]

    [exercises."gpu.im2col".misconceptions]
    taps_swapped = "The taps r and s are swapped within a row."

Lessons lie on a higher floor. The index that `labkit build` writes from their folders names them.
"""

import importlib
import importlib.util
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from labkit.checks.items import Case, Exercise, Misconception, Prediction, Quiz
from labkit.provenance import Quantity, counted

# What an exercise forbids where the point is to write it oneself.
LIBRARIES = (
    "torch",
    "tensorflow",
    "jax",
    "scipy",
    "labkit.reference",
    "labkit.convnet",
    "labkit.convolutions",
)
WINDOWS = "numpy.lib.stride_tricks.sliding_window_view"
# How near a result must be where the inputs are float64: rounding to float32 shows.
FLOAT64 = {"rtol": 1e-9, "atol": 1e-12}


@dataclass(frozen=True)
class Texts:
    """What an exercise says; `misconceptions` has a sentence for the name of each wrong idea."""

    id: str
    hints: list[str]
    misconceptions: dict[str, str]

    def __post_init__(self) -> None:
        """Raises ValueError where a text is missing or no text."""
        fits = isinstance(self.hints, list) and isinstance(self.misconceptions, dict)
        sentences = [*self.hints, *self.misconceptions.values()] if fits else []
        if not fits or not all(isinstance(sentence, str) for sentence in sentences):
            raise ValueError(f"{self.id}: hints = [sentences], and name = sentence for the rest.")


TABLES = {"predictions": Prediction, "quizzes": Quiz, "exercises": Texts}


INDEX = Path(__file__).with_name("lesson_index.toml")
LESSONS = "labkit_lessons"  # the package that lessons are imported from
ANSWER_MODULES = ("exercises", "solutions", "wrong")  # of a lesson's folder


class LessonFiles(NamedTuple):
    """One lesson of a room: where its items are written."""

    module: str  # "labkit_lessons.gpu.tiles.exercises"
    texts: Path  # the file of texts beside it
    solutions: Path  # the module that `labkit build` writes

    @property
    def texts_name(self) -> str:
        """What messages call the file of texts: "tiles/texts.toml"."""
        return f"{self.texts.parent.name}/{self.texts.name}"

    def exercises(self) -> list[Exercise]:
        """The lesson's exercises; raises what its module raises."""
        return importlib.import_module(self.module).EXERCISES

    def items(self) -> list[Prediction | Quiz | Texts]:
        """What stands in the file of texts; ValueError says what is wrong with it."""
        return _items_in(self.texts)

    def questions(self, exercises: Iterable[Exercise] | None) -> list[Prediction | Quiz]:
        """The predictions and quizzes; ValueError says what is wrong with the file.

        All texts must be of one of the `exercises`; None where these could not be read.
        """
        found = self.items()
        if exercises is not None:
            ids = {exercise.id for exercise in exercises}
            for item in found:
                if isinstance(item, Texts) and item.id not in ids:
                    raise ValueError(f'[exercises."{item.id}"] is the id of no exercise.')
        return [item for item in found if not isinstance(item, Texts)]


@cache
def index() -> dict[str, dict[str, list[str]]]:
    """Of each room, the packages of its lessons in their order, each with the ids of its items."""
    return tomllib.loads(INDEX.read_text(encoding="utf-8"))


def answer_modules() -> tuple[str, ...]:
    """The modules that hold right answers: no function that is checked may call them."""
    lessons = [lesson for room in index().values() for lesson in room]
    return tuple(f"{lesson}.{name}" for lesson in lessons for name in ANSWER_MODULES)


def lessons_of(room: str) -> list[LessonFiles]:
    """The lessons of a room, in their order.

    Raises ModuleNotFoundError where the chapter is not installed.
    """
    return [_in_folder(lesson) for lesson in index().get(room, {})]


def module_of(lesson: str, part: str) -> ModuleType:
    """A module of a lesson, for a room below it: module_of("tiles", "solutions").

    Raises ModuleNotFoundError where the index has no such lesson, or it is not installed.
    """
    known = [package for room in index().values() for package in room]
    found = [package for package in known if package.rpartition(".")[2] == lesson]
    if not found:
        raise ModuleNotFoundError(f"There is no lesson {lesson!r}: run `labkit build`.")
    _in_folder(found[0])
    return importlib.import_module(f"{found[0]}.{part}")


def _in_folder(lesson: str) -> LessonFiles:
    """The lesson of this package; ModuleNotFoundError says what to do where it is not installed."""
    try:
        found = importlib.util.find_spec(lesson)
    except ModuleNotFoundError:
        found = None
    if found is None:
        do = "run `make setup` in the course, elsewhere install labkit again"
        raise ModuleNotFoundError(f"{lesson} is not installed: {do}.")
    places = [Path(place) for place in found.submodule_search_locations]
    # What an earlier install left behind has none.
    folder = next((place for place in places if (place / "texts.toml").is_file()), places[0])
    return LessonFiles(f"{lesson}.exercises", folder / "texts.toml", folder / "solutions.py")


@cache
def _items_in(file: Path) -> list[Prediction | Quiz | Texts]:
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    unknown = content.keys() - TABLES.keys()
    if unknown:
        raise ValueError(f"[{min(unknown)}] is none of [{'], ['.join(TABLES)}].")
    found = []
    for table, kind in TABLES.items():
        for id, given in content.get(table, {}).items():
            found.append(_item(table, kind, id, given))
    return found


def _item(table: str, kind: type, id: str, given: object) -> Prediction | Quiz | Texts:
    """The item that a table `[predictions."gpu.bytes"]` describes."""
    names = [field.name for field in fields(kind) if field.name != "id"]
    if not isinstance(given, dict) or set(given) != set(names):
        needs = f"{', '.join(names[:-1])} and {names[-1]}, and nothing else"
        raise ValueError(f'[{table}."{id}"] needs {needs}; an id stands in quotes.')
    return kind(id, **given)


def texts(id: str) -> Texts:
    """The texts of an exercise; ValueError if its room has none for it, or has them twice."""
    room = id.partition(".")[0]
    package = f"{LESSONS}.{room}"
    found = []
    for lesson in lessons_of(room):
        try:
            items = lesson.items()
        except (OSError, TypeError, ValueError):  # the registry names this file
            continue
        found += [item for item in items if isinstance(item, Texts) and item.id == id]
    if not found:
        raise ValueError(f'[exercises."{id}"] is missing in the files of {package}.')
    if len(found) > 1:
        raise ValueError(
            f'[exercises."{id}"] stands in two files; keep one in the files of {package}.'
        )
    return found[0]


def exercise(
    id: str,
    oracle: Callable,
    cases: Callable[[np.random.Generator], Iterable[Case]],
    wrong: Mapping[str, Callable],
    **fields: Any,
) -> Exercise:
    """An `Exercise` with the texts of its id; `wrong` has a function for each wrong idea."""
    said = texts(id)
    sentences = said.misconceptions
    for name in wrong:
        if name not in sentences:
            raise ValueError(f'[exercises."{id}".misconceptions] has no sentence for {name!r}.')
    for name in sentences:
        if name not in wrong:
            raise ValueError(f"{id}: {name!r} has a sentence, but no function in wrong={{...}}.")
    misconceptions = [Misconception(sentences[name], idea) for name, idea in wrong.items()]
    return Exercise(id, oracle, cases, tuple(said.hints), tuple(misconceptions), **fields)


def by_own_name(*functions: Callable, made: Callable | None = None) -> dict[str, Callable]:
    """The functions as wrong ideas, each under its own name: by_own_name(mean) is {"mean": mean}.

    With `made`, the idea is what it makes of the function: {"no_load": with_tile(no_load)}.
    """
    return {one.__name__: made(one) if made else one for one in functions}


def cases_of(
    sizes: Mapping[str, tuple], inputs: Callable[..., tuple]
) -> Callable[[np.random.Generator], Iterable[Case]]:
    """One case for each name: inputs(rng, *sizes[name]) gives the arguments of the function.

    At the end the first one comes again, with new data: what is kept between two calls then shows.
    """

    def cases(rng: np.random.Generator) -> Iterable[Case]:
        for name in sizes:
            yield Case(name, inputs(rng, *sizes[name]))
        first = next(iter(sizes))
        yield Case(f"{first} again", inputs(rng, *sizes[first]))

    return cases


def costs(*rows: tuple[str, float, str, str]) -> Callable[[], list[tuple[str, Quantity]]]:
    """What a right answer is told of its cost: rows of (label, number, unit, how it is counted)."""

    def counts() -> list[tuple[str, Quantity]]:
        return [(label, counted(*count)) for label, *count in rows]

    return counts


def with_a_repeat(
    cases: Callable[[np.random.Generator], Iterable[Case]],
) -> Callable[[np.random.Generator], Iterable[Case]]:
    """The cases, of which the first comes twice: what depends on chance or on other calls shows."""

    def repeated(rng: np.random.Generator) -> Iterable[Case]:
        first, *others = cases(rng)
        return [first, Case(f"{first.name}, the same numbers", first.args), *others]

    return repeated
