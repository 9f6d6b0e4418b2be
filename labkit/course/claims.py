"""CLAIMS.md: every claim that a lesson puts on trial, with its verdict and a link to the cell.

In a lesson's markdown:   ### <a id="C02"></a>C02 on trial
                          > the claim, quoted
and, after code cells:    **Verdict on C02: holds if the batch is large.** One sentence of why.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from labkit.course import CourseError
from labkit.course.catalogue import read_lessons, sources
from labkit.course.config import Config
from labkit.course.lesson import Lesson
from labkit.course.prose import one_line

CLAIM = re.compile(
    r'^#+\s*<a id="(?P<anchor>\w+)"></a>\s*(?P<id>C\d+)\s+on trial\s*$(?P<quote>(?:\s*^>.*)*)', re.M
)
VERDICT = re.compile(
    r"\*\*Verdict on (?P<id>C\d+):\s*(?P<verdict>.+?)\*\*"
    r"[ \t]*(?P<why>[^\n]*(?:\n(?!\s*\n)[^\n]+)*)",  # to the end of the paragraph
    re.S,
)
PAGE = """\
# Claims on trial

What people say about hardware acceleration, and what running it showed. `labkit build` writes this
page from the lessons; each link leads to the cell that decides.

| id | claim | verdict | why | where |
|---|---|---|---|---|
"""


class Claim(NamedTuple):
    id: str
    claim: str
    verdict: str  # "holds", "holds if ..." or "wrong"
    why: str
    link: str


def of_lesson(lesson: Lesson, config: Config) -> list[Claim]:
    """The lesson's claims, in its order. CourseError for a claim without a proper verdict."""
    verdicts: dict[str, tuple[str, str]] = {}
    places: dict[str, tuple[str, int]] = {}
    for here, position, match in _found(VERDICT, lesson, config):
        id = match["id"]
        verdict, why = one_line(match["verdict"]).rstrip("."), one_line(match["why"])
        if id in verdicts:
            raise CourseError(f"{here}: a second verdict on {id}.")
        if not why or not re.fullmatch(r"holds|wrong|holds if \S.*", verdict):
            must = "it must be `holds`, `holds if ...` or `wrong`, and then say why"
            raise CourseError(f"{here}: the verdict on {id} is {verdict!r} {why!r}; {must}.")
        verdicts[id], places[id] = (verdict, why), (here, position)
    link = config.relative(lesson.notebook("learner"))
    found = []
    for here, position, match in _found(CLAIM, lesson, config):
        id = match["id"]
        if match["anchor"] != id:
            raise CourseError(f"{here}: claim {id} has the anchor {match['anchor']}.")
        if not match["quote"]:
            raise CourseError(f"{here}: claim {id} lacks its text: a quotation, `> ...`, below it.")
        if id not in verdicts:
            do = f"write `**Verdict on {id}: holds.** Why.` below it."
            raise CourseError(f"{here}: claim {id} has no verdict: {do}")
        if "code" not in [cell.type for cell in lesson.cells[position : places[id][1]]]:
            raise CourseError(f"{here}: {id} has no experiment between the claim and its verdict.")
        claim = one_line(re.sub(r"^> ?", "", match["quote"], flags=re.M))
        found.append(Claim(id, claim, *verdicts[id], f"{link}#{id}"))
    for id in sorted(verdicts.keys() - {claim.id for claim in found}):
        do = f'write `### <a id="{id}"></a>{id} on trial` above it.'
        raise CourseError(f"{places[id][0]}: a verdict on {id}, which has no heading: {do}")
    return found


def _found(
    pattern: re.Pattern, lesson: Lesson, config: Config
) -> Iterator[tuple[str, int, re.Match]]:
    """(where it stands, its cell's index, match) for every match in the lesson's prose."""
    for position, cell in enumerate(lesson.cells):
        if cell.type == "markdown":
            for match in pattern.finditer(cell.text):
                yield f"{config.relative(lesson.path)}, line {cell.line}", position, match


def collect(config: Config) -> list[Claim]:
    """All claims of all lessons, ordered by number. CourseError when two lessons try the same."""
    claims: dict[str, Claim] = {}
    for lesson in read_lessons(sources(config), config):
        for claim in of_lesson(lesson, config):
            if claim.id in claims:
                other = claims[claim.id].link
                raise CourseError(f"Claim {claim.id} is on trial twice: {other} and {claim.link}.")
            claims[claim.id] = claim
    return sorted(claims.values(), key=lambda claim: int(claim.id[1:]))


def page(config: Config) -> bytes:
    """CLAIMS.md as it should be."""
    rows = ""
    for *cells, link in collect(config):
        cells.append(f"[{link.removeprefix('chapters/')}]({link})")
        rows += "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
    return (PAGE + (rows or "| - | no claim is on trial yet | - | - | - |\n")).encode()
