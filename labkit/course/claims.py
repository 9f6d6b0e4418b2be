"""CLAIMS.md: every claim that a lesson puts on trial, with its verdict and a link to the cell.

In a lesson's markdown:   ### <a id="C02"></a>C02 on trial
                          > the claim, quoted
and, after code cells:    **Verdict on C02: holds if the batch is large.** One sentence of why.
"""

import re
from typing import NamedTuple

from labkit.course import TEXTS, CourseError
from labkit.course.catalogue import read_lessons, sources
from labkit.course.config import Config
from labkit.course.lesson import Lesson
from labkit.course.prose import one_line

CLAIM = re.compile(
    r'^#+\s*<a id="(?P<id>C\d+)"></a>\s*(?P=id)\s+on trial\s*$(?P<quote>(?:\s*^>.*)+)', re.M
)
VERDICT = re.compile(
    r"\*\*Verdict on (?P<id>C\d+):\s*(?P<verdict>.+?)\*\*"
    r"[ \t]*(?P<why>[^\n]*(?:\n(?!\s*\n)[^\n]+)*)",  # to the end of the paragraph
    re.S,
)


class Claim(NamedTuple):
    id: str
    claim: str
    verdict: str  # "holds", "holds if ..." or "wrong"
    why: str
    link: str


def of_lesson(lesson: Lesson, config: Config) -> list[Claim]:
    """The lesson's claims, in its order. CourseError for a claim without a proper verdict."""
    link = config.relative(lesson.notebook("learner"))
    tried: dict[str, tuple[str, int, str]] = {}  # id -> (where, how many code cells before, claim)
    found: dict[str, Claim] = {}
    code = 0
    for cell in lesson.cells:
        code += cell.type == "code"
        here, text = f"{config.relative(lesson.path)}, line {cell.line}", cell.text
        marks = [*CLAIM.finditer(text), *VERDICT.finditer(text)] if cell.type == "markdown" else []
        for mark in sorted(marks, key=re.Match.start):
            id = mark["id"]
            if mark.re is CLAIM:
                claim = one_line(re.sub(r"^> ?", "", mark["quote"], flags=re.M))
                tried[id] = (here, code, claim)
            elif id in found:
                raise CourseError(f"{here}: a second verdict on {id}.")
            elif id not in tried:
                do = f'write `### <a id="{id}"></a>{id} on trial`, and `> the claim`, above it'
                raise CourseError(f"{here}: a verdict on {id}, which is not on trial: {do}.")
            elif code == tried[id][1]:
                between = "no experiment between the claim and its verdict"
                raise CourseError(f"{here}: {id} has {between}.")
            else:
                found[id] = Claim(id, tried[id][2], *_judged(mark, here), f"{link}#{id}")
    for id in tried.keys() - found.keys():
        do = f"write `**Verdict on {id}: holds.** Why.` below it."
        raise CourseError(f"{tried[id][0]}: claim {id} has no verdict: {do}")
    return [found[id] for id in tried]


def _judged(mark: re.Match, here: str) -> tuple[str, str]:
    """The verdict, and why."""
    verdict, why = one_line(mark["verdict"]).rstrip("."), one_line(mark["why"])
    if not why or not re.fullmatch(r"holds|wrong|holds if \S.*", verdict):
        must = "it must be `holds`, `holds if ...` or `wrong`, and then say why"
        raise CourseError(f"{here}: the verdict on {mark['id']} is {verdict!r} {why!r}; {must}.")
    return verdict, why


def collect(config: Config) -> list[Claim]:
    """All claims of all lessons, ordered by number. CourseError when two lessons try the same."""
    claims: dict[str, Claim] = {}
    for lesson in read_lessons(sources(config), config):
        for claim in of_lesson(lesson, config):
            other = claims.setdefault(claim.id, claim)
            if other is not claim:
                both = f"{other.link} and {claim.link}"
                raise CourseError(f"Claim {claim.id} is on trial twice: {both}.")
    return sorted(claims.values(), key=lambda claim: int(claim.id[1:]))


def page(config: Config) -> bytes:
    """CLAIMS.md as it should be."""
    rows = ""
    for *cells, link in collect(config):
        cells.append(f"[{link.removeprefix('chapters/')}]({link})")
        rows += "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
    rows = rows or "| - | no claim is on trial yet | - | - | - |\n"
    return (TEXTS["claims_page"]["head"] + rows).encode()
