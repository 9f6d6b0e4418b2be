"""What GPUs said of chapter 01: its page measured.md and a row of README, from the stored reports.

A report is a folder that `make gpu-report` wrote, in benchmarks/results/gpu/<device>/. Each of its
rows that tries a lesson's prediction stands on the page beside that prediction, with how far the
two are apart; so does each row that is not as it should be.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from labkit.course import TEXTS, CourseError
from labkit.course.config import Config
from labkit.course.generated import GeneratedFile
from labkit.gpu.report import folder
from labkit.gpu.report.rows import STATES
from labkit.provenance import Quantity

RESULTS = "benchmarks/results"  # a course without this folder has no such page
REPORTS = f"{RESULTS}/gpu"
PAGE = "chapters/01_gpu/measured.md"
UP = "../../"  # from the page to the course's root
ROW = re.compile(r"^\| an NVIDIA GPU \|.*$", re.MULTILINE)
TEXT = TEXTS["measured_page"]
LESSONS: dict[str, dict[str, str]] = TEXT["lessons"]
COUNTED = {  # what README says of a section's rows that are as they should be
    "results": "kernels right",
    "speeds": "goals of speed reached",
    "counters": "kernels counted alike by Nsight Compute",
    "hazards": "planted kernels judged as stated by compute-sanitizer",
}


class Report(NamedTuple):
    """A stored report, and the name of its folder."""

    name: str
    content: dict

    @property
    def device(self) -> str:
        """The GPU that it was made on."""
        return self.content["gpu"].get("name", "an unknown GPU")

    def rows(self) -> Iterator[tuple[str, dict]]:
        """Every row with its section."""
        for section, found in self.content["sections"].items():
            for row in found["rows"]:
                yield section, row

    @property
    def wrong(self) -> list[tuple[str, dict]]:
        """The rows that are not as they should be, or that failed, with their sections."""
        return [(section, row) for section, row in self.rows() if _is_off(row)]


def _is_off(row: dict) -> bool:
    return row["ok"] is False or row["state"] in ("failed", "no memory", "not reached")


def files(config: Config) -> list[GeneratedFile]:
    """The page and README as they should be; none in a course without results.

    Raises CourseError for a folder that holds no report of a GPU.
    """
    root = config.course_root()
    if not (root / RESULTS).is_dir():
        return []
    found = reports(root)
    readme = root / "README.md"
    row = f"| an NVIDIA GPU | {readme_state(found)} |"
    text, replaced = ROW.subn(lambda _: row, readme.read_text(encoding="utf-8"))
    if replaced != 1:
        do = f"give its table one, `{row}`"
        raise CourseError(f"README.md has {replaced} rows `| an NVIDIA GPU | ... |`: {do}.")
    return [
        GeneratedFile(root / PAGE, page(found).encode()),
        GeneratedFile(readme, text.encode()),
    ]


def reports(root: Path) -> list[Report]:
    """All stored reports, by the names of their folders."""
    found = []
    for path in sorted(filter(Path.is_dir, (root / REPORTS).glob("*"))):
        name = f"{REPORTS}/{path.name}"
        try:
            content = folder.read(path)
        except ValueError as error:
            raise CourseError(f"{REPORTS}/{error}") from None
        if content["dry"]:
            raise CourseError(f"{name} is of a dry run, which measures nothing: take it away.")
        if not (path / "report.md").is_file():
            raise CourseError(f"{name} has no report.md: copy the report's whole folder.")
        report = Report(path.name, content)
        for section, row in report.rows():
            lesson = row.get("lesson", "")
            if lesson and lesson not in LESSONS:
                what = f"{section}, {row['what']}, names the lesson {lesson!r}"
                raise CourseError(f"{name}: {what}, which [measured_page] in texts.toml lacks.")
        found.append(report)
    return found


def page(found: Sequence[Report]) -> str:
    """measured.md: what was measured, on what, and beside which prediction."""
    parts = [TEXT["head"]]
    parts += [_of_device(report) for report in found] or [TEXT["none"]]
    parts.append(TEXT["predictions"])
    parts += [_of_lesson(lesson, found) for lesson in LESSONS]
    return re.sub(r"\n{3,}", "\n\n", "\n".join([*parts, TEXT["send"]]).lstrip())


def _of_device(report: Report) -> str:
    """A report in short, and what in it is not as it should be."""
    content = report.content
    link = f"{UP}{REPORTS}/{report.name}/report.md"
    facts = [f"on {content['date']}", f"driver {content['gpu'].get('driver', 'unknown')}"]
    facts += [f"{what} {number}" for what, number in content["versions"].items() if number]
    lines = [f"## {report.device}", ""]
    lines += [f"**Measured** {', '.join(facts)}: [the whole report]({link}). {_short(report)}.", ""]
    for name, section in content["sections"].items():
        if section["why"]:
            lines += [f"- Section {name}: {section['why']}"]
    for section, row in report.wrong:
        says = row["says"] or STATES[row["state"]]
        lines += [f"- Not as it should be, {section}: {row['what']}: {says}"]
    return "\n".join([*lines, ""])


def _of_lesson(lesson: str, found: Sequence[Report]) -> str:
    """What a lesson predicts, and a row for each try of it."""
    about = LESSONS[lesson]
    lines = [f"### [{about['title']}]({about['notebook']})", "", about["predicts"], ""]
    tries = []
    for report in found:
        for _, row in report.rows():
            if row.get("lesson") == lesson:
                cells = (row["what"], report.device, *beside(row))
                tries.append(f"| {' | '.join(map(_cell, cells))} |")
    if tries:
        lines += ["| what | GPU | measured | in the lesson | apart | what follows |"]
        lines += ["|---|---|---|---|---|---|", *tries]
    else:
        lines += ["Not yet measured."]
    return "\n".join([*lines, ""])


def beside(row: dict) -> tuple[str, str, str, str]:
    """Of a row: what was measured, what the lesson says, how far apart they are, what follows."""
    numbers = {name: Quantity(**number) for name, number in row["numbers"].items()}
    here = {name: n for name, n in numbers.items() if n.word == "measured"}
    there = {name: n for name, n in numbers.items() if n.word != "measured"}
    measured = "; ".join(f"{name} {n.number}" for name, n in here.items())
    said = "; ".join(f"{name} {n.number} ({n.word})" for name, n in there.items())
    gaps = {}
    if here:
        first = next(iter(here.values()))
        gaps = {name: gap(name, n, first) for name, n in there.items() if n.unit == first.unit}
    apart = "; ".join(f"{name}: {text}" if len(gaps) > 1 else text for name, text in gaps.items())
    return measured or STATES[row["state"]] or "-", said, apart, row["says"]


def gap(name: str, stated: Quantity, here: Quantity) -> str:
    """By how much what a lesson says misses what was measured: "25 % too high", or "equal"."""
    if stated.value == here.value:
        return "equal"
    if name.startswith("at most") and here.value <= stated.value:
        return "the bound holds"
    if not here.value:
        return "nothing was measured to compare with"
    percent = 100 * (stated.value / here.value - 1)
    size = f"{abs(percent):.0f} %" if abs(percent) >= 1 else "less than 1 %"
    return f"{size} too {'high' if percent > 0 else 'low'}"


def readme_state(found: Sequence[Report]) -> str:
    """The state of README's row on the GPU."""
    target = f"[the page]({PAGE})"
    if not found:
        return TEXT["readme_none"].strip().format(page=target)
    said = [f"{report.device}, {report.content['date']}: {_short(report)}" for report in found]
    return f"measured on {'; on '.join(said)}; {target}".replace("|", "\\|")


def _short(report: Report) -> str:
    """ "41 of 41 kernels right, ...": of the sections that have a right and a wrong."""
    said = []
    for name, what in COUNTED.items():
        rows = report.content["sections"].get(name, {"rows": []})["rows"]
        good = sum(row["ok"] is True for row in rows)
        off = sum(map(_is_off, rows))
        said.append(f"{good} of {good + off} {what}" if good + off else f"{name} not run")
    return ", ".join(said)


def _cell(text: str) -> str:
    """Text that fits into a cell of a table."""
    return " ".join(text.replace("|", "\\|").split())
