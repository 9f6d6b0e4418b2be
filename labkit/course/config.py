"""Where the course lies and where it is published: `[tool.labkit]` in pyproject.toml."""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from labkit.course import CourseError


@dataclass(frozen=True)
class Config:
    """The configuration. `root` is None where labkit is installed without the course."""

    address: str  # "https://github.com/OWNER/NAME", or "" while the course has no public address
    tag: str  # the tag that Colab installs
    root: Path | None

    def course_root(self) -> Path:
        """The repository's root; raises CourseError where there is none."""
        if self.root is None:
            do = "clone the course's repository, then run `make lab` in it (or set LABKIT_ROOT)"
            raise CourseError(f"labkit is installed here without the course: {do}.")
        return self.root

    @property
    def chapters(self) -> Path:
        """The folder of the lessons; raises CourseError where there is no course."""
        return self.course_root() / "chapters"

    @property
    def work(self) -> Path:
        """The learner's folder: LABKIT_WORK if set, else `work/` in the repository."""
        asked = os.path.expanduser(os.environ.get("LABKIT_WORK", ""))
        return Path(asked or self.course_root() / "work").resolve()

    def relative(self, path: Path) -> str:
        """`path` as messages name it: relative to the root, with slashes."""
        path, root = path.resolve(), self.course_root()
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def config(root: Path | None = None) -> Config:
    """The course at `root`; by default at LABKIT_ROOT, else the one that this package lies in."""
    asked = root or os.path.expanduser(os.environ.get("LABKIT_ROOT", ""))
    root = Path(asked or Path(__file__).parents[2]).resolve()
    file = root / "pyproject.toml"
    if not asked and not file.is_file():
        return Config(address="", tag="", root=None)
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        do = "LABKIT_ROOT, if set, must name a clone of the course"
        raise CourseError(f"{file} cannot be read: {error}. {do}.") from error
    values = table.get("tool", {}).get("labkit", {})
    return Config(values.get("address", "").rstrip("/"), values.get("tag", ""), root)
