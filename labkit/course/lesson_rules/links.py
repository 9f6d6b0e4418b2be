"""Links of notebooks and pages: which relative ones are dead. tools/links.py asks for the rest."""

import re
from pathlib import Path
from urllib.parse import unquote

from labkit.course import CourseError
from labkit.course.config import Config
from labkit.course.lesson_rules import prose
from labkit.course.notebook import Notebook

ELSEWHERE = re.compile(r"[a-zA-Z][\w+.-]*:|//")  # no relative link


def pages(config: Config) -> list[Path]:
    """The pages of the course besides its notebooks: top-level *.md and the chapters' README.md."""
    return sorted(config.course_root().glob("*.md")) + sorted(config.chapters.glob("*/README.md"))


def text_of(path: Path, config: Config) -> str:
    """The markdown of a page, or of a notebook's markdown cells."""
    if path.suffix == ".ipynb":
        return Notebook.read(path, config.relative(path)).markdown
    return path.read_text(encoding="utf-8")


def dead(path: Path, text: str, config: Config) -> list[str]:
    """A sentence for every relative link that leads nowhere, in the `text` of a page at `path`."""
    sentences = []
    for target in dict.fromkeys(prose.targets(text)):
        what = "" if ELSEWHERE.match(target) else _problem(path, text, target, config)
        if what:
            sentences.append(f"{config.relative(path)} links to {target}: {what}")
    return sentences


def _problem(path: Path, text: str, target: str, config: Config) -> str:
    """What is wrong with a relative link on a page; "" if nothing is."""
    file, _, fragment = unquote(target).partition("#")
    aim = (path.parent / file).resolve() if file else path
    if file.startswith("/") or not aim.is_relative_to(config.course_root()):
        return "this leads out of the repository."
    if path.suffix == ".ipynb" and not aim.is_relative_to(config.chapters):
        return "this leads out of chapters/, where a learner's copy under work/ cannot follow."
    if not aim.exists():
        return "there is no such file."
    if not fragment:
        return ""
    if aim.suffix not in (".md", ".ipynb"):
        return "only pages and notebooks have anchors."
    try:
        aimed_at = text if aim == path else text_of(aim, config)
    except CourseError as error:
        return str(error)
    known = prose.anchors(aimed_at, jupyter=aim.suffix == ".ipynb")
    return "" if fragment in known else f"there is no anchor `{fragment}` there."
