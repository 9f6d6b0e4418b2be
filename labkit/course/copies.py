"""The learner's copies: made when a lesson is first opened, never overwritten, never removed.

    chapters/01_gpu/1_x.ipynb   ->   work/01_gpu/1_x.ipynb
                                     work/01_gpu/1_x.updated-3f9c01ab.ipynb   once it changed

The second form carries the first eight digits of the new source's SHA-256. A copy begins without
outputs, so that nobody sees a result before predicting it; a solution keeps them.
"""

import os
import re
from pathlib import Path, PurePosixPath

from labkit.course import CourseError, notebook
from labkit.course.config import Config

UPDATED = re.compile(r"(?P<stem>.+)\.updated-(?P<hash>[0-9a-f]{8})\.ipynb")
SERVED = {".ipynb", ".md", ".png", ".svg", ".jpg"}  # what a learner opens; source/ stays behind


def ensure(config: Config, path: str) -> bool:
    """Make the learner's copy of `path` if there is a lesson and no copy yet. True if made."""
    target, source = config.work / path.strip("/"), original(config, path.strip("/"))
    if source is None or os.path.lexists(target):
        return False
    data = source.read_bytes()
    if source.suffix == ".ipynb":
        made = notebook.read(source, config.relative(source))  # what is broken is not copied
        if source.parent.name != "solutions":
            data = notebook.to_bytes(notebook.cleared(made))
    return notebook.write(target, data)


def original(config: Config, path: str) -> Path | None:
    """The course's file behind `path` (relative to work/), or None if there is none.

    `01_gpu/1_x.updated-<hash>.ipynb` stands for the lesson only while its source has that hash.
    """
    parts = PurePosixPath(path).parts
    if len(parts) < 2 or ".." in parts or "source" in parts or any(p[0] == "." for p in parts):
        return None
    aim = config.chapters.joinpath(*parts)
    if updated := UPDATED.fullmatch(aim.name):
        aim = aim.with_name(f"{updated['stem']}.ipynb")
        if version(aim)[:8] != updated["hash"]:
            return None
    return aim if aim.is_file() and aim.suffix in SERVED else None


def version(path: Path) -> str:
    """The hash of the source that a notebook was built from; "" where that is unknown."""
    try:
        return str(notebook.read(path, path.name)["metadata"]["labkit"]["source_sha256"])
    except (CourseError, OSError, KeyError, TypeError):
        return ""


def of(config: Config, path: str) -> tuple[str, list[str]]:
    """(what to open now, the learner's other copies) for the lesson `path`, relative to work/.

    What to open now is an up-to-date copy, or one that opening makes. Broken ones are others.
    """
    latest, first = version(config.chapters / path), config.work / path
    updated = f"{first.stem}.updated-{{}}.ipynb"
    files = [first, *sorted(first.parent.glob(updated.format("*")))]
    mine = {f.relative_to(config.work).as_posix(): version(f) for f in files if f.is_file()}
    fresh = str(PurePosixPath(path).with_name(updated.format(latest[:8]))) if mine else path
    current = next((name for name, found in mine.items() if found == latest), fresh)
    return current, [name for name in mine if name != current or not mine[name]]
