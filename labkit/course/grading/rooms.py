"""What a closed room shows: Python, the course's package and its lessons, and nothing else."""

import importlib.util
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import labkit
import numba_simt
from labkit.checks.lesson_files import LESSONS, index
from labkit.course.grading.closed_process import Limits, Room

CACHE = "/tmp/cache"
ENVIRONMENT = {
    "LABKIT_CACHE": CACHE,
    "NUMBA_SIMT_CACHE": f"{CACHE}/simt",
    "LABKIT_PROGRESS": "off",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
PASSED = ("PATH", "CC", "CXX")  # variables that name tools


def room(folder: Path, closed: bool = True, limits: Limits | None = None) -> Room:
    """The room in which students' code and its judges run; `folder` is empty, and stays so."""
    folder.mkdir(parents=True, exist_ok=True)
    root = Path(labkit.__file__).parents[1]
    simt = Path(numba_simt.__file__).parents[1]
    see = {sys.prefix, sys.base_prefix, str(root / "labkit"), str(simt / "numba_simt")}
    path = [str(root), str(simt)]
    for place in filter(None, sys.path):
        if Path(place, LESSONS).is_dir():
            path.append(place)
            see.add(str(Path(place, LESSONS)))
    see |= {str(folder) for folder in lesson_folders()}
    own = {name: os.environ[name] for name in PASSED if name in os.environ}
    tools = yowasp_cache()
    if tools.is_dir():
        see.add(str(tools))
        own["YOWASP_CACHE_DIR"] = str(tools)
    return Room(
        root=str(folder),
        see=_without_inner(see),
        path=path,
        environment=ENVIRONMENT | own,
        copies=[[str(file), f"{CACHE}/simt/{file.name}"] for file in compiled_machine()],
        closed=closed,
        limits=limits or Limits(),
    )


def _without_inner(places: Iterable[str]) -> list[str]:
    """Without those that lie in another one that is shown."""
    kept: list[str] = []
    for place in sorted(places, key=len):
        if not any(Path(place).is_relative_to(other) for other in kept):
            kept.append(place)
    return kept


def lesson_folders() -> list[Path]:
    """Where the lessons of the course lie, those of chapters that are not installed left out."""
    found = []
    for package in (name for lessons in index().values() for name in lessons):
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        if spec is not None:
            found += [Path(place).resolve() for place in spec.submodule_search_locations]
    return found


def compiled_machine() -> list[Path]:
    """The compiled SIMT machine, which each room would have to compile again otherwise."""
    from numba_simt.execution.native import cache_folder

    return sorted(cache_folder().glob("*.so"))


def yowasp_cache() -> Path:
    """Where Yosys lies compiled for this machine: to compile it again takes a minute."""
    if chosen := os.environ.get("YOWASP_CACHE_DIR"):
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("YoWASP", appauthor=False)
