"""Links of notebooks and pages: which relative ones are dead. tools/links.py asks for the rest."""

import re
from pathlib import Path
from urllib.parse import unquote

from labkit.course import CourseError, notebook, prose
from labkit.course.config import Config

ELSEWHERE = re.compile(r"[a-zA-Z][\w+.-]*:|//")  # no relative link


def pages(config: Config) -> list[Path]:
    """The pages of the course besides its notebooks: top-level *.md and the chapters' README.md."""
    return sorted(config.course_root().glob("*.md")) + sorted(config.chapters.glob("*/README.md"))


def text(path: Path, name: str) -> str:
    """The markdown of a page, or of a notebook's markdown cells."""
    if path.suffix == ".ipynb":
        return "\n\n".join(notebook.markdown(notebook.read(path, name)))
    return path.read_text(encoding="utf-8")


def dead(path: Path, config: Config) -> list[str]:
    """A sentence for every relative link of a page or notebook that leads nowhere."""
    name = config.relative(path)
    targets = [t for t in dict.fromkeys(prose.targets(text(path, name))) if not ELSEWHERE.match(t)]
    problems = {target: _problem(path, target, config) for target in targets}
    return [f"{name} links to {target}: {what}" for target, what in problems.items() if what]


def _problem(path: Path, target: str, config: Config) -> str:
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
        known = prose.anchors(text(aim, config.relative(aim)), jupyter=aim.suffix == ".ipynb")
    except CourseError as error:
        return str(error)
    return "" if fragment in known else f"there is no anchor `{fragment}` there."
