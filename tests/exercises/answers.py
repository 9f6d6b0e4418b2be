"""All exercises, and the answers to them that planted/<lesson>.py holds.

The planted answers are written without looking at the misconceptions that labkit.checks compares
with. Each is a whole answer, or a named edit of the solution (edits.py):

    PLANTED     id -> [(wrong answer, words of its diagnosis)]
    RIGHT_ON    wrong answer -> inputs on which it is right, where the exercise's cases have none
    ALSO_RIGHT  id -> [right answers in other styles than the solution]
    ENDLESS     id -> a kernel that never ends
    HANGING     wrong answers for which a real board would wait for ever, whatever the inputs
    EMPTY       id -> a kernel that does nothing
"""

import runpy
from pathlib import Path

from labkit.checks.items import Exercise
from labkit.checks.registry import registry

FILES = [runpy.run_path(str(path)) for path in sorted(Path(__file__).parent.glob("planted/*.py"))]
PLANTED = {id: plants for file in FILES for id, plants in file["PLANTED"].items()}
RIGHT_ON = {f: args for file in FILES for f, args in file.get("RIGHT_ON", {}).items()}
ALSO_RIGHT = {id: fs for file in FILES for id, fs in file.get("ALSO_RIGHT", {}).items()}
ENDLESS = {id: kernel for file in FILES for id, kernel in file.get("ENDLESS", {}).items()}
HANGING = [answer for file in FILES for answer in file.get("HANGING", [])]
EMPTY = {id: kernel for file in FILES for id, kernel in file.get("EMPTY", {}).items()}
EXERCISES = {exercise.id: exercise for exercise in registry().of(Exercise)}
MODULES = {id: one for id, one in EXERCISES.items() if isinstance(one.fallback, str)}
FUNCTIONS = {id: one for id, one in EXERCISES.items() if id not in MODULES}
