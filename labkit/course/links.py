"""Links of notebooks and pages: which relative ones are dead, and `labkit links` for the others.

`labkit links` asks once for every external link. Only a definite "not there" (404 or 410) is a
failure. No network, or a server that does not like programs, says nothing about the link.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote

from labkit.course import CourseError, notebook, prose
from labkit.course.config import Config

GONE = {404, 410}
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


def ask(url: str) -> int:
    """The HTTP status; 0 when no answer came."""
    import requests

    try:
        with requests.get(url, timeout=15, stream=True) as answer:
            return answer.status_code
    except requests.RequestException:
        return 0


def links(config: Config) -> int:
    """Ask for every external link of pages and learner's notebooks; 1 if one is definitely gone."""
    found: dict[str, str] = {}  # link -> a place that has it
    for path in [*pages(config), *sorted(config.chapters.glob("*/*.ipynb"))]:
        targets = prose.targets(text(path, name := config.relative(path)))
        found |= {t.partition("#")[0]: name for t in targets if re.match("https?://", t)}
    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = [*pool.map(ask, found)]
    for status, (url, name) in zip(answers, found.items(), strict=True):
        print(f"{status or 'none':>4}  {url}  ({name})")
    gone, silent = sum(status in GONE for status in answers), answers.count(0)
    print(f"{len(found)} external links: {gone} gone, {silent} without an answer.")
    if found and silent == len(found):
        print("Not one answered: this machine has no network, so nothing was learned.")
    return 1 if gone else 0
