"""CLAIMS.md: every claim that a lesson puts on trial, with its verdict and a link to the cell.

In a lesson's markdown:   ### <a id="C02"></a>C02 on trial
                          > the claim, quoted
and, after code cells:    **Verdict on C02: holds if the batch is large.** One sentence of why.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from labkit.course import TEXTS, CourseError
from labkit.course.config import Config
from labkit.course.generated import GeneratedFile
from labkit.course.lesson_rules.prose import one_line
from labkit.course.source.lesson import Lesson, LessonCell

CLAIM = re.compile(
    r'^#+\s*<a id="(?P<id>C\d+)"></a>\s*(?P=id)\s+on trial\s*$(?P<quote>(?:\s*^>.*)+)',
    re.MULTILINE,
)
VERDICT = re.compile(
    r"\*\*Verdict on (?P<id>C\d+):\s*(?P<verdict>.+?)\*\*"
    r"[ \t]*(?P<why>[^\n]*(?:\n(?!\s*\n)[^\n]+)*)",  # to the end of the paragraph
    re.DOTALL,
)
VERDICTS = re.compile(r"holds|wrong|holds (only )?if \S.*")


class Claim(NamedTuple):
    """A claim that was tried: a row of CLAIMS.md."""

    id: str
    claim: str
    verdict: str  # "holds", "holds if ...", "holds only if ..." or "wrong"
    why: str
    link: str


class OnTrial(NamedTuple):
    """A claim that still waits for its verdict."""

    claim: str
    here: str  # file and line of the cell
    code_cells: int  # that stand above it


def of_lesson(lesson: Lesson, config: Config) -> list[Claim]:
    """The lesson's claims, in its order. CourseError for a claim without a proper verdict."""
    link = config.relative(lesson.notebook("learner"))
    tried: dict[str, OnTrial] = {}
    found: dict[str, Claim] = {}
    code_cells = 0
    for cell in lesson.cells:
        code_cells += cell.type == "code"
        here = f"{config.relative(lesson.path)}, line {cell.line}"
        for mark in _marks(cell):
            id = mark["id"]
            if mark.re is CLAIM:
                quote = re.sub(r"^> ?", "", mark["quote"], flags=re.MULTILINE)
                tried[id] = OnTrial(one_line(quote), here, code_cells)
                continue
            if id in found:
                raise CourseError(f"{here}: a second verdict on {id}.")
            _refuse_without_experiment(id, tried.get(id), code_cells, here)
            verdict, why = _judged(mark, here)
            found[id] = Claim(id, tried[id].claim, verdict, why, f"{link}#{id}")
    for id, waiting in tried.items():
        if id not in found:
            do = f"write `**Verdict on {id}: holds.** Why.` below it."
            raise CourseError(f"{waiting.here}: claim {id} has no verdict: {do}")
    return [found[id] for id in tried]


def _marks(cell: LessonCell) -> list[re.Match]:
    """The claims and verdicts of a cell, in their order."""
    if cell.type != "markdown":
        return []
    marks = [*CLAIM.finditer(cell.learner), *VERDICT.finditer(cell.learner)]
    return sorted(marks, key=re.Match.start)


def _refuse_without_experiment(
    id: str, waiting: OnTrial | None, code_cells: int, here: str
) -> None:
    """CourseError for a verdict on what is not on trial, or with no cell since it was."""
    if waiting is None:
        do = f'write `### <a id="{id}"></a>{id} on trial`, and `> the claim`, above it'
        raise CourseError(f"{here}: a verdict on {id}, which is not on trial: {do}.")
    if code_cells == waiting.code_cells:
        raise CourseError(f"{here}: {id} has no experiment between the claim and its verdict.")


def _judged(mark: re.Match, here: str) -> tuple[str, str]:
    """The verdict, and why."""
    verdict = one_line(mark["verdict"]).rstrip(".")
    why = one_line(mark["why"])
    if not why or not VERDICTS.fullmatch(verdict):
        verdicts = "`holds`, `holds if ...`, `holds only if ...` or `wrong`"
        must = f"it must be {verdicts}, and then say why"
        raise CourseError(f"{here}: the verdict on {mark['id']} is {verdict!r} {why!r}; {must}.")
    return verdict, why


def collect(lessons: Iterable[Lesson], config: Config) -> list[Claim]:
    """The claims of all lessons, ordered by number. CourseError when two try the same."""
    claims: dict[str, Claim] = {}
    for lesson in lessons:
        for claim in of_lesson(lesson, config):
            if claim.id in claims:
                both = f"{claims[claim.id].link} and {claim.link}"
                raise CourseError(f"Claim {claim.id} is on trial twice: {both}.")
            claims[claim.id] = claim
    return sorted(claims.values(), key=lambda claim: int(claim.id[1:]))


def page(lessons: Iterable[Lesson], config: Config) -> GeneratedFile:
    """CLAIMS.md as it should be, from all lessons of the course."""
    rows = "".join(_rows(collect(lessons, config)))
    rows = rows or "| - | no claim is on trial yet | - | - | - |\n"
    text = TEXTS["claims_page"]["head"] + rows
    return GeneratedFile(config.course_root() / "CLAIMS.md", text.encode())


def _rows(claims: Iterable[Claim]) -> Iterator[str]:
    """A row of the table for each claim."""
    for claim in claims:
        where = f"[{claim.link.removeprefix('chapters/')}]({claim.link})"
        cells = (claim.id, claim.claim, claim.verdict, claim.why, where)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
