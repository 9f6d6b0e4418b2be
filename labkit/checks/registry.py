"""Finds an exercise, a prediction or a quiz by its id: "gpu.linear_backward".

The id's prefix names a room of `labkit.ROOMS`. Each of its lessons has a module with a list
EXERCISES, and a file of texts beside it (`labkit.checks.lesson_files`). A room is read when one of
its ids is first asked for. What cannot be read (a package is missing, a question is incomplete)
leaves the others usable, and is named when an id is not found.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial

import labkit
from labkit.checks import lesson_files
from labkit.checks.items import Exercise, Prediction, Quiz
from labkit.checks.phrasing import short

Item = Exercise | Prediction | Quiz
CALLS = {
    Exercise: ("exercise", "check({id!r}, your_function)"),
    Prediction: ("prediction", "predict({id!r}, value, unit)"),
    Quiz: ("quiz", "quiz({id!r}, answer)"),
}
_LISTED = 8  # ids that a message lists


class UnknownId(LookupError):
    """No item of the wanted kind has this id; the message says which ids are near."""


class Registry:
    """Items by id, in the order of their rooms and lessons.

    rooms   what ids begin with; each is read when it is first needed
    """

    def __init__(self, rooms: Iterable[str]) -> None:
        self.items: dict[str, Item] = {}
        self.failures: dict[str, str] = {}  # module or file -> why it could not be read
        self._unread = list(rooms)

    def add(self, items: Iterable[Item]) -> None:
        """Makes the items known; ValueError when an id is there twice."""
        for item in items:
            if item.id in self.items:
                raise ValueError(f"Two items have the id {item.id!r}; rename one.")
            self.items[item.id] = item

    def of(self, kind: type) -> list[Item]:
        """All items of a kind, from all rooms."""
        for room in list(self._unread):
            self._read(room)
        return [item for item in self.items.values() if isinstance(item, kind)]

    def find(self, id: object, kind: type) -> Item:
        """The item of this kind with this id; raises UnknownId with a sentence that helps."""
        if not isinstance(id, str):
            kind_of_id = type(id).__name__
            raise UnknownId(f"The id is a text, such as 'gpu.linear'; this one is a {kind_of_id}.")
        room = id.partition(".")[0]
        self._read(room)
        item = self.items.get(id)
        if isinstance(item, kind):
            return item
        if item is None:
            raise UnknownId(self._unknown(id, kind))
        word, call = CALLS[type(item)]
        article = "an" if word == "exercise" else "a"
        raise UnknownId(f"{id!r} is the id of {article} {word}: use {call.format(id=id)}.")

    def _read(self, room: str) -> None:
        """Every exercise, prediction and quiz of a room that was not read before."""
        if room not in self._unread:
            return
        self._unread.remove(room)
        try:
            lessons = lesson_files.lessons_of(room)
        except ModuleNotFoundError as error:
            self.failures[f"{lesson_files.LESSONS}.{room}"] = str(error)
            return
        for lesson in lessons:
            exercises = self._add_from(lesson.module, lesson.exercises)
            self._add_from(lesson.texts_name, partial(lesson.questions, exercises))

    def _add_from(self, source: str, read: Callable[[], list[Item]]) -> list[Item] | None:
        """What `read` gives; None, and a line among the failures, where it raises."""
        try:
            found = read()
            self.add(found)
        except Exception as error:  # a missing package must not take the other lessons along
            self.failures[source] = f"{type(error).__name__}: {error}"
            return None
        return found

    def _unknown(self, id: str, kind: type) -> str:
        """A sentence that names the near ids, or some of all, and what could not be read."""
        ids = [item.id for item in self.of(kind)]
        near = [known for known in ids if id and known.rpartition(".")[2] == id.rpartition(".")[2]]
        near = near or get_close_matches(id, ids, n=3, cutoff=0.5)
        if not near and id:
            near = [known for known in ids if id in known][:3]
        sentence = f"There is no {CALLS[kind][0]} with the id {short(id)!r}."
        if near:
            sentence += f" Did you mean {' or '.join(map(repr, near))}?"
        elif ids:
            more = f" and {len(ids) - _LISTED} more" if len(ids) > _LISTED else ""
            sentence += f" The ids are: {', '.join(ids[:_LISTED])}{more}."
        for source, reason in self.failures.items():
            sentence += f" ({source} could not be read: {reason})"
        return sentence


_registry: Registry | None = None


def registry() -> Registry:
    """The course's registry."""
    global _registry
    if _registry is None:
        _registry = Registry(labkit.ROOMS)
    return _registry


@contextmanager
def registered(*items: Item) -> Iterator[Registry]:
    """For tests: within the block, exactly these items exist."""
    global _registry
    before, _registry = _registry, Registry(())
    _registry.add(items)
    try:
        yield _registry
    finally:
        _registry = before
