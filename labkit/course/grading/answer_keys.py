"""What grading knows of a lesson: its exercises, the course's own answers, and where those lie."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from labkit.course.grading.slices import needed, statements

ANSWERS = ("exercises.py", "solutions.py", "planted.py", "lesson.py", "texts.toml", "classes.toml")
ANSWER_FOLDERS = ("exercises", "wrong")


class Solution(NamedTuple):
    """The course's own answer to an exercise: its name, and its text with all that it uses."""

    name: str
    text: str


@dataclass(frozen=True)
class Course:
    """What grading knows of a lesson.

    exercises   ids, in their order
    solutions   of each exercise, the course's own answer
    hidden      files and folders with answers, which a student's room must not show
    """

    exercises: list[str]
    solutions: dict[str, Solution] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)


def course_of(lesson_folder: Path, exercises: list[str], every_folder: Iterable[Path]) -> Course:
    """The lesson's exercises, the texts of its solutions, and all that has answers."""
    hidden = []
    for folder in every_folder:
        hidden += [str(folder / name) for name in (*ANSWERS, *ANSWER_FOLDERS)]
        hidden += map(str, folder.glob("test_*.py"))
    text = (lesson_folder / "solutions.py").read_text("utf-8")
    return Course(exercises, solution_texts(text, exercises), hidden)


def solution_texts(text: str, exercises: Iterable[str]) -> dict[str, Solution]:
    """Of each exercise that a module of solutions answers, the text of this answer alone.

    The imports, and what it uses, go with it; what answers other exercises is among them only where
    it uses that.
    """
    found = statements(0, text)
    (table,) = (one.node.value for one in found if one.binds == {"SOLUTIONS"})
    names = {key.value: name.id for key, name in zip(table.keys, table.values, strict=True)}
    texts = {}
    for id in set(exercises) & names.keys():
        wanted = [one for one in found if names[id] in one.binds]
        text = "\n".join(ast.unparse(one.node) for one in needed(found, wanted))
        texts[id] = Solution(names[id], text)
    return texts


def defined(text: str) -> set[str]:
    """The functions and texts that a text defines."""
    found = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {one.id for one in node.targets if isinstance(one, ast.Name)}
    return found
