"""A file that the course writes by itself, and whether it lies there as it should."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from labkit.course.config import Config
from labkit.files import write_whole


@dataclass(frozen=True)
class GeneratedFile:
    """What should lie at a path: a notebook, a module of solutions, CLAIMS.md, a page."""

    path: Path
    data: bytes

    def is_stored(self) -> bool:
        """Whether exactly this lies there."""
        return self.path.is_file() and self.path.read_bytes() == self.data

    def write(self) -> bool:
        """Write it whole or not at all, and only where it changes something. True if written."""
        if self.is_stored():
            return False
        write_whole(self.path, self.data)
        return True


def write_all(files: Iterable[GeneratedFile], config: Config) -> None:
    """Write those that are not there yet, and name each."""
    for file in files:
        if file.write():
            print(f"{config.relative(file.path)}: written")
