"""The learner's copies: made when a lesson is first opened, never overwritten, never removed.

    chapters/01_gpu/1_x.ipynb   ->   work/01_gpu/1_x.ipynb
                                     work/01_gpu/1_x.updated-3f9c01ab.ipynb   once it changed

The second form carries the first eight digits of the new source's SHA-256. A copy begins without
outputs, so that nobody sees a result before predicting it; a solution keeps them, and is called
1_x.solution.ipynb, so that its tab says what it is. A lesson is known by its name: where its number
changed, the copy under the old number is still its copy.
"""

import os
import re
from pathlib import Path, PurePosixPath

from labkit.course import CourseError
from labkit.course.config import Config
from labkit.course.generated import GeneratedFile
from labkit.course.notebook import Notebook

UPDATED = re.compile(r"(?P<stem>.+)\.updated-(?P<hash>[0-9a-f]{8})\.ipynb")
NUMBERED = re.compile(r"\d+_(?P<name>.+?)(\.updated-[0-9a-f]{8})?\.ipynb")
SOLUTION = re.compile(r"(?P<stem>.+)\.solution(?P<rest>(\.updated-[0-9a-f]{8})?\.ipynb)")
SERVED = {".ipynb", ".md", ".png", ".svg", ".jpg"}  # what a learner opens; source/ stays behind


def ensure(config: Config, path: str) -> bool:
    """Make the learner's copy of `path` if there is a lesson and no copy yet. True if made.

    Raises CourseError where the lesson is broken: that is not copied.
    """
    path = path.strip("/")
    source = original(config, path)
    target = config.work / path
    if source is None or os.path.lexists(target):
        return False
    data = source.read_bytes()
    if source.suffix == ".ipynb":
        notebook = Notebook.read(source, config.relative(source))
        if source.parent.name != "solutions":
            data = notebook.cleared().to_bytes()
    return GeneratedFile(target, data).write()


def original(config: Config, path: str) -> Path | None:
    """The course's file behind `path` (relative to work/), or None if there is none.

    `01_gpu/1_x.updated-<hash>.ipynb` stands for the lesson only while its source has that hash.
    """
    parts = PurePosixPath(path).parts
    hidden = any(part.startswith(".") for part in parts)  # also ".."
    if len(parts) < 2 or "source" in parts or hidden:
        return None
    aim = config.chapters.joinpath(*parts)
    named = SOLUTION.fullmatch(aim.name)
    if named and aim.parent.name == "solutions":
        aim = aim.with_name(named["stem"] + named["rest"])
    updated = UPDATED.fullmatch(aim.name)
    if updated:
        aim = aim.with_name(f"{updated['stem']}.ipynb")
        if version(aim)[:8] != updated["hash"]:
            return None
    return aim if aim.is_file() and aim.suffix in SERVED else None


def version(path: Path) -> str:
    """The hash of the source that a notebook was built from; "" where that is unknown."""
    try:
        notebook = Notebook.read(path, path.name)
    except (CourseError, OSError):
        return ""
    return str(notebook.course_metadata.get("source_sha256", ""))


def of(config: Config, path: str) -> tuple[str, list[str]]:
    """(what to open now, the learner's other copies) for the lesson `path`, relative to work/.

    What to open now is an up-to-date copy, or one that opening makes. Broken ones are others.
    """
    latest = version(original(config, path) or config.chapters / path)
    mine = _versions_of_copies(config, path)
    fresh = path
    if path in mine:
        fresh = PurePosixPath(path).with_suffix(f".updated-{latest[:8]}.ipynb").as_posix()
    up_to_date = [name for name, found in mine.items() if found == latest]
    current = up_to_date[0] if up_to_date else fresh
    others = [name for name, found in mine.items() if name != current or not found]
    return current, others


def of_lessons_gone(config: Config, chapter: str) -> list[str]:
    """The learner's copies of a chapter's lessons that are no more, relative to work/.

    A lesson goes when it is split or renamed. Notebooks of the learner's own are not among them.
    """
    found = []
    for file in sorted((config.work / chapter).glob("*.ipynb")):
        numbered = NUMBERED.fullmatch(file.name)
        if not numbered or not version(file):
            continue
        if not (config.chapters / chapter / "source" / numbered["name"]).is_dir():
            found.append(file.relative_to(config.work).as_posix())
    return found


def _versions_of_copies(config: Config, path: str) -> dict[str, str]:
    """Each of the learner's copies of a lesson, the first one first: its version, "" if broken.

    Those that were made when the lesson had another number come last.
    """
    first = config.work / path
    name = first.name.partition("_")[2]
    same = [f for f in sorted(first.parent.glob("*.ipynb")) if _is_copy_of(f.name, name)]
    same.sort(key=lambda file: (not file.name.startswith(f"{first.stem}."), file != first))
    return {copy.relative_to(config.work).as_posix(): version(copy) for copy in same}


def _is_copy_of(file: str, name: str) -> bool:
    """Whether a file is called `<number>_<name>`, with or without the mark of an update."""
    numbered = NUMBERED.fullmatch(file)
    return bool(numbered) and f"{numbered['name']}.ipynb" == name
