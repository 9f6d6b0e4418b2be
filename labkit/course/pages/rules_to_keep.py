"""RULES.md: the rule to keep of every lesson, by chapter, with a link to the lesson.

In a lesson's recap:    **The rule to keep: a sentence with a number in it.**
"""

import re
from collections.abc import Sequence

from labkit.course import TEXTS
from labkit.course.catalogue import CHAPTERS
from labkit.course.config import Config
from labkit.course.generated import GeneratedFile
from labkit.course.lesson_rules.prose import one_line
from labkit.course.source.lesson import Lesson

RULE = re.compile(r"\*\*(?:(?:The|A) rule to keep|Keep this rule): (?P<rule>.+?)\*\*", re.DOTALL)


def of_lesson(lesson: Lesson) -> list[str]:
    """The rules that a lesson asks to keep, each on one line: mostly one."""
    found = []
    for cell in lesson.cells:
        if cell.type != "markdown":
            continue
        for mark in RULE.finditer(cell.learner):
            rule = one_line(mark["rule"])
            found.append(rule[0].upper() + rule[1:])
    return found


def files(lessons: Sequence[Lesson], config: Config) -> list[GeneratedFile]:
    """RULES.md as it should be; none where no lesson has a rule."""
    parts = []
    for chapter in CHAPTERS:
        own = [one for one in lessons if one.chapter.name == chapter.folder]
        rows = "".join(map(_rows, sorted(own, key=lambda lesson: lesson.number)))
        if rows:
            parts.append(f"\n## {chapter.title}\n\n{TEXTS['rules_page']['table']}{rows}")
    if not parts:
        return []
    text = TEXTS["rules_page"]["head"] + "".join(parts)
    return [GeneratedFile(config.course_root() / "RULES.md", text.encode())]


def _rows(lesson: Lesson) -> str:
    """A row for each rule of a lesson."""
    link = f"[{lesson.number} {lesson.title}](chapters/{lesson.name}.ipynb)"
    rules = [rule.replace("|", "\\|") for rule in of_lesson(lesson)]
    return "".join(f"| {link} | {rule} |\n" for rule in rules)
