"""Finds an exercise, a prediction or a quiz by its id: "gpu.linear_backward".

Exercises are the lists EXERCISES of the modules in `labkit.checks.cases`, and in a machine's own
`exercises` (labkit/gpu/exercises). Predictions and quizzes are data (labkit.checks.lessons). All
are read once, on the first call. What cannot be read (a package is missing, a question is
incomplete) leaves the others usable, and is named when an id is not found.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from labkit.checks import lessons
from labkit.checks.exercise import Exercise, Prediction, Quiz
from labkit.checks.texts import short

Item = Exercise | Prediction | Quiz
ROOMS = Path(__file__).parents[1]
CALLS = {
    Exercise: ("exercise", "check({id!r}, your_function)"),
    Prediction: ("prediction", "predict({id!r}, value, unit)"),
    Quiz: ("quiz", "quiz({id!r}, answer)"),
}


class UnknownId(LookupError):
    """No item of the wanted kind has this id; the message says which ids are near."""


class Registry:
    """All items by id, in the order of their modules and files."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.items: dict[str, Item] = {}
        self.failures: dict[str, str] = {}  # module or file -> why it could not be read
        self.add(items)

    def add(self, items: Iterable[Item]) -> None:
        for item in items:
            if item.id in self.items:
                raise ValueError(f"Two items have the id {item.id!r}; rename one.")
            self.items[item.id] = item

    def of(self, kind: type) -> list[Item]:
        return [item for item in self.items.values() if isinstance(item, kind)]

    def find(self, id: object, kind: type) -> Item:
        """The item of this kind with this id; raises UnknownId with a sentence that helps."""
        if not isinstance(id, str):
            kind_of_id = type(id).__name__
            raise UnknownId(f"The id is a text, such as 'gpu.linear'; this one is a {kind_of_id}.")
        item = self.items.get(id)
        if isinstance(item, kind):
            return item
        if item is not None:
            word, call = CALLS[type(item)]
            article = "an" if word == "exercise" else "a"
            raise UnknownId(f"{id!r} is the id of {article} {word}: use {call.format(id=id)}.")
        raise UnknownId(self._unknown(id, kind))

    def _unknown(self, id: str, kind: type) -> str:
        ids = [item.id for item in self.of(kind)]
        near = get_close_matches(id, ids, n=3, cutoff=0.5) or [i for i in ids if id and id in i][:3]
        sentence = f"There is no {CALLS[kind][0]} with the id {short(id)!r}."
        if near:
            sentence += f" Did you mean {' or '.join(map(repr, near))}?"
        elif ids:
            more = f" and {len(ids) - 8} more" if len(ids) > 8 else ""
            sentence += f" The ids are: {', '.join(ids[:8])}{more}."
        for source, reason in self.failures.items():
            sentence += f" ({source} could not be read: {reason})"
        return sentence


_registry: Registry | None = None


def registry() -> Registry:
    """The course's registry, read on first use."""
    global _registry
    if _registry is None:
        _registry = read_all()
    return _registry


def read_all() -> Registry:
    """Every exercise, prediction and quiz of the course."""
    readers = {name: partial(_exercises_in, name) for name in _modules()}
    readers |= {file.name: partial(lessons.read, file) for file in lessons.files()}
    found, texts = Registry(), {}
    for source, read in readers.items():
        try:
            items = read()
        except Exception as error:  # a missing package must not take the other chapters along
            found.failures[source] = f"{type(error).__name__}: {error}"
        else:
            found.add(item for item in items if type(item) is not lessons.Texts)
            texts |= {item.id: source for item in items if type(item) is lessons.Texts}
    lost = {} if found.failures else texts  # an exercise may be missing with its module
    for id in lost.keys() - found.items.keys():
        found.failures[texts[id]] = f'[exercises."{id}"] is the id of no exercise.'
    return found


def _modules() -> Iterator[str]:
    """Modules with exercises: those of this room, then those that need a machine to launch on."""
    machines = sorted(folder.parent.name for folder in ROOMS.glob("*/exercises"))
    for package in ("checks.cases", *(f"{machine}.exercises" for machine in machines)):
        package = importlib.import_module(f"labkit.{package}")
        for info in pkgutil.iter_modules(package.__path__):
            yield f"{package.__name__}.{info.name}"


def _exercises_in(module: str) -> list[Exercise]:
    return getattr(importlib.import_module(module), "EXERCISES", [])


@contextmanager
def registered(*items: Item) -> Iterator[Registry]:
    """For tests: within the block, exactly these items exist."""
    global _registry
    before, _registry = _registry, Registry(items)
    try:
        yield _registry
    finally:
        _registry = before
