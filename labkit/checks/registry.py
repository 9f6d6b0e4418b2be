"""Finds an exercise, a prediction or a quiz by its id: "gpu.linear_backward".

Every module in `labkit.checks.cases`, and in a machine's own `exercises` (labkit/gpu/exercises),
may hold the lists EXERCISES, PREDICTIONS and QUIZZES. They are read once, on the first call. A
module that cannot be imported (a package is missing) leaves the others usable, and is named when
an id is not found.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from labkit.checks.exercise import Exercise, Prediction, Quiz

Item = Exercise | Prediction | Quiz
CALLS = {
    Exercise: ("exercise", "check({id!r}, your_function)"),
    Prediction: ("prediction", "predict({id!r}, value, unit)"),
    Quiz: ("quiz", "quiz({id!r}, answer)"),
}


class UnknownId(LookupError):
    """No item of the wanted kind has this id; the message says which ids are near."""


class Registry:
    """All items by id, in the order of their modules."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.items: dict[str, Item] = {}
        self.failures: dict[str, str] = {}  # module -> why it could not be read
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        if item.id in self.items:
            raise ValueError(f"Two items have the id {item.id!r}; rename one.")
        self.items[item.id] = item

    def of(self, kind: type) -> list[Item]:
        return [item for item in self.items.values() if isinstance(item, kind)]

    def find(self, id: object, kind: type) -> Item:
        """The item of this kind with this id; raises UnknownId with a sentence that helps."""
        item = self.items.get(id) if isinstance(id, str) else None
        if isinstance(item, kind):
            return item
        if item is not None:
            word, call = CALLS[type(item)]
            article = "an" if word == "exercise" else "a"
            raise UnknownId(f"{id!r} is the id of {article} {word}: use {call.format(id=id)}.")
        raise UnknownId(self._unknown(id, kind))

    def _unknown(self, id: object, kind: type) -> str:
        word = CALLS[kind][0]
        if not isinstance(id, str):
            return f"The id is a text, such as 'gpu.linear'; this one is a {type(id).__name__}."
        ids = [item.id for item in self.of(kind)]
        near = get_close_matches(id, ids, n=3, cutoff=0.5) or [i for i in ids if id and id in i][:3]
        shown = id if len(id) <= 60 else id[:57] + "..."
        sentence = f"There is no {word} with the id {shown!r}."
        if near:
            sentence += f" Did you mean {' or '.join(map(repr, near))}?"
        elif ids:
            more = f" and {len(ids) - 8} more" if len(ids) > 8 else ""
            sentence += f" The ids are: {', '.join(ids[:8])}{more}."
        for module, reason in self.failures.items():
            sentence += f" ({module} could not be read: {reason})"
        return sentence


_registry: Registry | None = None


def registry() -> Registry:
    """The course's registry, read on first use."""
    global _registry
    if _registry is None:
        _registry = _read_cases()
    return _registry


def _modules() -> Iterator[str]:
    """Modules with cases: those of this room, then those that need a machine to launch on."""
    labkit = importlib.import_module("labkit")
    rooms = sorted(room.name for room in pkgutil.iter_modules(labkit.__path__) if room.ispkg)
    machines = [room for room in rooms if Path(labkit.__path__[0], room, "exercises").is_dir()]
    for package in ["checks.cases", *(f"{room}.exercises" for room in machines)]:
        package = importlib.import_module(f"labkit.{package}")
        for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
            yield f"{package.__name__}.{info.name}"


def _read_cases() -> Registry:
    found = Registry()
    for name in _modules():
        try:
            module = importlib.import_module(name)
        except Exception as error:  # a missing package must not take the other chapters along
            found.failures[name] = f"{type(error).__name__}: {error}"
            continue
        for listed in ("EXERCISES", "PREDICTIONS", "QUIZZES"):
            for item in getattr(module, listed, ()):
                found.add(item)
    return found


@contextmanager
def registered(*items: Item) -> Iterator[Registry]:
    """For tests: within the block, exactly these items exist."""
    global _registry
    before, _registry = _registry, Registry(items)
    try:
        yield _registry
    finally:
        _registry = before
