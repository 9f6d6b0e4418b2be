"""How long `labkit grade` takes for a class: 30 submissions of a lesson, three times: `make bench`.

    python benchmarks/grade.py [--lesson 01_gpu/1_gradients] [--runs 3]

The submissions are made of the lesson's notebook: each exercise's cell as it is handed out, or the
course's solution, or a planted wrong answer, in turn. Each run draws its own cases. The goal is
300 s on two idle cores; the limit is that all runs give the same verdicts.
"""

import argparse
import copy
import csv
import json
import os
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path

os.environ.update(LABKIT_PROGRESS="off", LABKIT_OFFLINE="1")
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from table import Row, report  # noqa: E402

from labkit.course.catalogue import Course  # noqa: E402
from labkit.course.config import config  # noqa: E402
from labkit.course.grading.command import grade  # noqa: E402
from labkit.provenance import counted, measured  # noqa: E402

MANY = 30
GOAL = 300.0  # seconds
IMPORTS = "from labkit import check, figures, hint, predict, quiz\n"
LESSON = "01_gpu/1_gradients"


def submissions(lesson: str, folder: Path) -> None:
    """Thirty notebooks: exercise k of notebook n is the stub, the solution, or a wrong answer."""
    from tests.course.grading.planted_cells import cell_of
    from tests.exercises.answers import PLANTED

    one = Course(config()).lessons(lesson)[0]
    learner = json.loads(one.notebook("learner").read_text("utf-8"))
    solved = json.loads(one.notebook("solution").read_text("utf-8"))
    right = {tag: cell["source"] for cell in solved["cells"] for tag in _exercises(cell)}
    wrong = {}
    for tag in right:
        id = tag.removeprefix("exercise:")
        name = id.rpartition(".")[2]
        cells = []
        for answer, _ in PLANTED.get(id, []):
            if text := cell_of(id, answer):
                given = "answer" if isinstance(answer, str) else answer.__name__
                cells.append(f"{IMPORTS}{text}{name} = {given}\n")
        wrong[tag] = cycle(cells or [right[tag]])
    for number in range(MANY):
        made = copy.deepcopy(learner)
        exercises = [cell for cell in made["cells"] if _exercises(cell)]
        for place, cell in enumerate(exercises):
            [tag] = _exercises(cell)
            kind = (number + place) % 3
            if kind == 1:
                cell["source"] = right[tag]
            elif kind == 2:
                cell["source"] = next(wrong[tag])
        (folder / f"student_{number:02}.ipynb").write_text(json.dumps(made), "utf-8")


def _exercises(cell: dict) -> list[str]:
    tags = cell.get("metadata", {}).get("tags", [])
    return [tag for tag in tags if tag.startswith("exercise:")]


def verdicts(out: Path) -> list[tuple[str, ...]]:
    """Of each row of the table what must be the same in every run."""
    rows = csv.DictReader((out / "grades.csv").read_text("utf-8").splitlines())
    return [(row["student"], row["exercise"], row["verdict"]) for row in rows]


def main() -> int:
    """Grade the class several times and print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lesson", default=LESSON)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        place = Path(work, "class")
        place.mkdir()
        submissions(options.lesson, place)
        rows = list(_rows(options, place))
    return report("grade", rows)


def _rows(options: argparse.Namespace, place: Path) -> list[Row]:
    found, rows = [], []
    for number in range(options.runs):
        out = place.parent / f"grades-{number}"
        begin = time.perf_counter()
        grade(config(), str(place), str(out))
        took = time.perf_counter() - begin
        rows.append(Row(f"{MANY} submissions of {options.lesson}", measured(took, "s"), goal=GOAL))
        found.append(verdicts(out))
    words = [word for _, _, word in found[0]]
    for word in sorted(set(words)):
        rows.append(Row(f"  verdicts: {word}", counted(words.count(word), "rows", "the table")))
    different = sum(one != found[0] for one in found)
    by = f"comparing {options.runs} runs"
    rows.append(Row("  runs with other verdicts", counted(different, "runs", by), limit=0))
    return rows


if __name__ == "__main__":
    sys.exit(main())
