"""The course's two wheels, and what of them the first cell of a handout carries, as a text.

A payload has two parts, each a tar archive under xz and base85. The first is labkit and numba-simt,
the same for all lessons; the second the lesson's folder, those of lessons whose exercises it uses,
and an index of these alone, by which `check` finds them.
"""

import base64
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path

from labkit.course import CourseError

FOLDERS = ("labkit", "chapters", "simt")
FILES = ("pyproject.toml", "README.md", "LICENSE")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.ipynb", "*.egg-info", "build")
SAME_DATE = {"SOURCE_DATE_EPOCH": "315532800"}  # 1980: the same sources give the same bytes
INDEX = "labkit/checks/lesson_index.toml"
# Weights lie beside the notebooks, and the photographs come from their makers' archive.
LEFT_OUT = ("labkit/data/*.safetensors", "labkit/data/cifar10/*.png", "*.dist-info/RECORD", INDEX)
SOURCE = "*/lesson.py"  # both twins of a lesson: nothing reads it but the build
QUOTED = re.compile(r'"([a-z]+\.[a-z0-9_]+)"')
Files = dict[str, bytes]


def build_wheels(root: Path, folder: Path) -> list[Path]:
    """Build both wheels of the course at `root` into `folder`: numba-simt's, then labkit's.

    They need setuptools here, and no network. Raises CourseError, with pip's last lines.
    """
    copy = folder / "copy"
    for name in FOLDERS:
        shutil.copytree(root / name, copy / name, ignore=NOT_COPIED)
    for name in FILES:
        shutil.copy(root / name, copy)
    command = [sys.executable, "-P", "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps"]
    command += ["--no-build-isolation", f"--wheel-dir={folder}", str(copy / "simt"), str(copy)]
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, env=own | SAME_DATE, capture_output=True, text=True)
    shutil.rmtree(copy)
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()[-5:])
        do = "pip and setuptools must be here, as `make setup` installs them"
        raise CourseError(f"The wheels of the course cannot be built: {do}.\n{said}")
    return [next(folder.glob("numba_simt-*.whl")), next(folder.glob("labkit-*.whl"))]


def files_of(wheels: Iterable[Path]) -> Files:
    """The files of wheels, by where they lie beside each other once installed."""
    found: Files = {}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                place = re.sub(r"^[^/]+\.data/data/", "", name)  # share/labkit/train_gpt.py
                found[place] = archive.read(name)
    return found


def common(files: Files) -> Files:
    """What all lessons share: labkit and numba-simt, without data and lessons."""
    found = {}
    for name, data in files.items():
        left_out = any(fnmatch(name, pattern) for pattern in LEFT_OUT)
        if not left_out and not name.startswith("labkit_lessons/"):
            found[name] = data
    return found


def own(files: Files, package: str) -> Files:
    """What a lesson adds: `package` is its own, labkit_lessons.gpu.tiles."""
    index = tomllib.loads(files[INDEX].decode())
    packages = {package, *_used(files, package, index)}
    folders = tuple(one.replace(".", "/") + "/" for one in packages)
    found = {INDEX: _index_of(packages, index).encode()}
    for name, data in files.items():
        if name.startswith(folders) and not fnmatch(name, SOURCE):
            found[name] = data
    return found


def _used(files: Files, package: str, index: Mapping[str, Mapping[str, list[str]]]) -> set[str]:
    """The lessons whose exercises this one names, or the room of labkit that it belongs to."""
    room = package.split(".")[1]
    readers = (package.replace(".", "/") + "/", f"labkit/{room}/")
    ids: set[str] = set()
    for name, data in files.items():
        if name.startswith(readers) and name.endswith(".py"):
            ids.update(QUOTED.findall(data.decode()))
    lessons = [lesson for lessons in index.values() for lesson in lessons.items()]
    return {lesson for lesson, own_ids in lessons if ids.intersection(own_ids)}


def _index_of(packages: set[str], index: Mapping[str, Mapping[str, list[str]]]) -> str:
    """The index of some lessons alone."""
    lines = []
    for room, lessons in index.items():
        lines.append(f"[{room}]")
        for lesson, ids in lessons.items():
            if lesson in packages:
                lines.append(f"{json.dumps(lesson)} = {json.dumps(ids)}")
    return "\n".join(lines) + "\n"


def packed(files: Files) -> str:
    """Files as a text: tar, xz, base85; the same files give the same text."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size = len(files[name])
            archive.addfile(member, io.BytesIO(files[name]))
    return base64.b85encode(lzma.compress(content.getvalue())).decode()
