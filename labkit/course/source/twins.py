"""The two notebooks that a lesson stands for: the learner's, and its twin with the solution."""

import hashlib
import re
from collections import Counter

from labkit.course import TEXTS, folders
from labkit.course.catalogue import CHAPTERS
from labkit.course.config import Config
from labkit.course.notebook import HOLDS, ITEMS, KERNELSPEC, NOT_RUN, Notebook
from labkit.course.source.lesson import TWINS, Lesson

COLAB = "https://colab.research.google.com"
# What stands above a lesson's first text: Colab's badge, and that a solution is one.
ABOVE = re.compile(
    rf"\[!\[Open in Colab\]\({COLAB}[^)]*\)\]\([^)]*\)\s*|^\*\*This is the solution\*\*.*\s*",
    re.MULTILINE,
)
GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(\.git)?/?")
# What begins a relative link: `](` or `<img src="`, and then no scheme, anchor, root or bracket.
RELATIVE_LINK = re.compile(r"(\]\(|<(?:img|a)\b[^>]*?\b(?:src|href)=\")(?!\w+:|#|/|<)")


def twins(lesson: Lesson, config: Config) -> tuple[Notebook, ...]:
    """Both notebooks of a lesson, in the order of TWINS, without outputs and counts."""
    ids = cell_ids(lesson)
    return tuple(_twin(lesson, twin, ids, config) for twin in TWINS)


def setup_cell(config: Config, chapter: str = "") -> str:
    """The first code cell of every lesson of a chapter, with the course's address and tag in it."""
    says = TEXTS["setup_cell"]
    colab = says["without_address"]
    if config.address:
        needs = says["chapters"].get(chapter, {"extra": "", "then": ""})
        colab = says["colab"].format(address=config.address, tag=config.tag, **needs)
    room = next((f'"{one.extra}"' for one in CHAPTERS if one.folder == chapter), "")
    return says["every_lesson"].format(colab=colab, room=room)


def cell_ids(lesson: Lesson) -> list[str]:
    """One id per cell, from what its source says; both twins share them, edits move no others."""
    seen: Counter[str] = Counter()
    ids = []
    for cell in lesson.cells:
        name = "setup"
        if "setup" not in cell.tags:
            says = f"{cell.type}\n{cell.solution}"
            name = hashlib.sha256(says.encode()).hexdigest()[:12]
        seen[name] += 1
        ids.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return ids


def _twin(lesson: Lesson, twin: str, ids: list[str], config: Config) -> Notebook:
    """One of the two."""
    above = _badge(lesson, twin, config)
    if twin == "solution":
        above += TEXTS["solution"]["above"].format(lesson=f"../{lesson.stem}.ipynb")
    cells = []
    for cell, cell_id in zip(lesson.cells, ids, strict=True):
        text = cell.shown_in(twin)
        if "setup" in cell.tags:
            text = setup_cell(config, lesson.chapter.name)
        elif cell.type == "markdown":
            text = above + (_one_folder_deeper(text) if twin == "solution" else text)
            above = ""  # the first text alone has something above it
        made = {
            "cell_type": cell.type,
            "id": cell_id,
            "source": text.splitlines(keepends=True),
            "metadata": {"tags": list(cell.tags)} if cell.tags else {},
        }
        if cell.relations:
            made["metadata"][HOLDS] = {one.expression: None for one in cell.relations}
        cells.append(made | NOT_RUN if cell.type == "code" else made)
    notes = {
        "title": lesson.title,
        "minutes": lesson.minutes,
        "needs": list(lesson.needs),
        "source_sha256": lesson.sha256,
        ITEMS: folders.items_sha256(lesson.path),
        "twin": twin,
    }
    metadata = {"kernelspec": KERNELSPEC, "labkit": notes, "language_info": {"name": "python"}}
    content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    path = lesson.notebook(twin)
    return Notebook(path, config.relative(path), content)


def _badge(lesson: Lesson, twin: str, config: Config) -> str:
    """Colab's badge; "" unless the course's address is on GitHub."""
    github = GITHUB.fullmatch(config.address)
    if github is None:
        return ""
    path = config.relative(lesson.notebook(twin))
    link = f"{COLAB}/github/{github[1]}/blob/{config.tag}/{path}"
    return f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({link})\n\n"


def _one_folder_deeper(text: str) -> str:
    """The solution lies one folder deeper, so its relative links climb one step more."""
    return RELATIVE_LINK.sub(r"\1../", text)
