"""All exercises, and the answers to them that each lesson's planted.py holds.

The planted answers are written without looking at the misconceptions that labkit.checks compares
with. Each is a whole answer, or a named edit of the solution (edits.py):

    PLANTED     id -> [(wrong answer, words of its diagnosis)]
    RIGHT_ON    wrong answer -> inputs on which it is right, where the exercise's cases have none
    ALSO_RIGHT  id -> [right answers in other styles than the solution]
    ENDLESS     id -> a kernel that never ends
    HANGING     wrong answers for which a real board would wait for ever, whatever the inputs
    EMPTY       id -> a kernel that does nothing

Of each exercise four planted answers are tried by day (`by_day`), all of them by night.
"""

from collections import defaultdict
from collections.abc import Iterable
from importlib.util import module_from_spec, spec_from_file_location
from itertools import chain, zip_longest

import pytest

from labkit.checks.items import Exercise
from labkit.checks.registry import registry
from tests.exercises.edits import COURSE
from tests.night import LONG_LESSONS

FOUND = {path.parent.name: path for path in COURSE.glob("chapters/*/source/*/planted.py")}


def _names_in(lesson: str) -> dict[str, object]:
    """What a planted.py defines, as a learner's module: the lessons' own functions are refused."""
    spec = spec_from_file_location(f"planted_{lesson}", FOUND[lesson])
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


LESSONS = {name: _names_in(name) for name in sorted(FOUND)}
FILES = [*LESSONS.values()]
# What answers keep from call to call: empty at first.
KEPT = [one for file in FILES for one in file.values() if type(one) is dict and not one]
PLANTED = {id: plants for file in FILES for id, plants in file["PLANTED"].items()}
LONG_IDS = {id for name in LONG_LESSONS for id in LESSONS[name]["PLANTED"]}
RIGHT_ON = {f: args for file in FILES for f, args in file.get("RIGHT_ON", {}).items()}
ALSO_RIGHT = {id: fs for file in FILES for id, fs in file.get("ALSO_RIGHT", {}).items()}
ENDLESS = {id: kernel for file in FILES for id, kernel in file.get("ENDLESS", {}).items()}
HANGING = [answer for file in FILES for answer in file.get("HANGING", [])]
EMPTY = {id: kernel for file in FILES for id, kernel in file.get("EMPTY", {}).items()}
for id in PLANTED:
    registry().find(id, Exercise)  # raises with the sentence of a room that cannot be read
EXERCISES = {exercise.id: exercise for exercise in registry().of(Exercise)}
MODULES = {id: one for id, one in EXERCISES.items() if isinstance(one.fallback, str)}
FUNCTIONS = {id: one for id, one in EXERCISES.items() if id not in MODULES}

CALLS = ("no kernel", "is not allowed", "real board")
COSTS = ("sectors", "conflict", "float64", "cycles, and", "LUTs", "DSPs", "asked for", "bytes")
BY_DAY = 4


def mechanism(id: str, answer: object, says: str) -> str:
    """What refuses a planted answer: one of the five, by the words of its diagnosis."""
    exercise = EXERCISES[id]
    if answer in HANGING or "wait" in says:
        return "a wait without an end"
    if any(name.endswith(says) for name in exercise.forbidden) or says in CALLS:
        return "a forbidden call"
    ideas = [" ".join(idea.sentence.replace("`", "").split()) for idea in exercise.misconceptions]
    if any(says in idea for idea in ideas):
        return "a misconception"
    if any(word in says for word in COSTS):
        return "a limit of cost"
    return "a general cause"


def by_day(id: str) -> list[tuple]:
    """Four of an exercise's planted answers: the first of each mechanism, then the second.

    Which mechanism comes first changes from exercise to exercise, so that all have their turn.
    """
    kinds = defaultdict(list)
    for planted in PLANTED.get(id, []):
        kinds[mechanism(id, *planted)].append(planted)
    names = sorted(kinds)
    turn = list(EXERCISES).index(id) % max(len(names), 1)
    rounds = zip_longest(*(kinds[name] for name in names[turn:] + names[:turn]))
    return [planted for planted in chain(*rounds) if planted][:BY_DAY]


def plants_of(ids: Iterable[str], instead: str) -> list:
    """Parameters (id, answer, words): every planted answer; beyond `by_day` for the night alone."""
    found = []
    for id in ids:
        chosen = [answer for answer, _ in by_day(id)]
        for answer, says in PLANTED.get(id, []):
            marks = () if answer in chosen else pytest.mark.night(instead=instead)
            found.append(pytest.param(id, answer, says, id=f"{id}-{answer.__name__}", marks=marks))
    return found
