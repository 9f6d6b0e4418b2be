"""`labkit handout`: notebooks for a class on Colab, each complete in itself, and what to do."""

import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from labkit.course import CourseError
from labkit.course.catalogue import CHAPTERS, Course
from labkit.course.config import Config
from labkit.course.folders import module_of
from labkit.course.handout.pages import SAMPLE, Files, data_of, handed_out, start_pages
from labkit.course.handout.payload import build_wheels, common, files_of, own, packed
from labkit.course.notebook import Notebook
from labkit.course.source.lesson import Lesson
from labkit.files import write_whole

LIST = "handout.json"  # the SHA-256 of each file that a handout made, by its place


def handout(config: Config, out: str, wanted: str | None = None, solutions: bool = False) -> int:
    """Write the handout of the wanted lessons (default: all) into the folder `out`.

    Raises CourseError for what cannot be handed out, having written nothing.
    """
    lessons = Course(config).lessons(wanted)
    with tempfile.TemporaryDirectory(prefix="labkit-handout-") as work:
        wheels = build_wheels(config.course_root(), Path(work))
        files = files_of(wheels)
        beside = {wheel.name: wheel.read_bytes() for wheel in wheels}
    made = dict(beside)
    shared = packed(common(files))
    for lesson in lessons:
        names = [name for name in data_of(lesson) if name != SAMPLE]
        data = {name: files[f"labkit/data/{name}"] for name in names}
        made |= data
        values = _values(config, lesson, beside, data)
        values |= _payload(shared, packed(own(files, module_of(lesson.path))))
        for twin in ("learner", "solution") if solutions else ("learner",):
            made |= _notebook(config, lesson, twin, values)
    made |= start_pages(lessons, beside, made)
    place = Path(out)
    left = sorted(set(made_before(place)) - set(made))
    write(place, made)
    largest = max(len(data) for name, data in made.items() if name.endswith(".ipynb"))
    print(f"{place}: {len(lessons)} lessons, the largest notebook has {largest:,} bytes.")
    if left:
        print(f"Of an earlier handout, and left as they were: {', '.join(left)}.")
    return 0


def _values(config: Config, lesson: Lesson, wheels: Files, data: Files) -> dict[str, object]:
    """What stands in the lesson's first cell, but the payload."""
    address = f"git+{config.address}@{config.tag}"
    named = [f"numba-simt @ {address}#subdirectory=simt", f"labkit @ {address}"]
    rooms = {chapter.folder: chapter.extra for chapter in CHAPTERS}
    return {
        "LESSON": module_of(lesson.path),
        "ROOM": rooms.get(lesson.chapter.name, ""),
        "WHEELS": _digests(wheels),
        "ADDRESSES": named if config.address else [],
        "DATA": _digests(data),
        "SAMPLE": SAMPLE in data_of(lesson),
    }


def _payload(*parts: str) -> dict[str, object]:
    digest = hashlib.sha256("".join(parts).encode()).hexdigest()
    return {"PAYLOAD_SHA256": digest, "PAYLOAD": parts}


def _digests(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def _notebook(
    config: Config, lesson: Lesson, twin: str, values: Mapping[str, object]
) -> dict[str, bytes]:
    """One notebook by its place in the folder: the learner's without outputs."""
    stored = lesson.notebook(twin)
    if not stored.is_file():
        do = f"run `labkit build {lesson.name}`"
        raise CourseError(f"{config.relative(stored)} is not there: {do}.")
    notebook = Notebook.read(stored, config.relative(stored))
    if twin == "learner":
        notebook = notebook.cleared()
    place = stored.relative_to(config.chapters)
    return {place.as_posix(): handed_out(notebook, values, place).to_bytes()}


def made_before(folder: Path) -> dict[str, str]:
    """What an earlier `labkit handout` made in a folder; CourseError where its list is damaged."""
    file = folder / LIST
    if not file.is_file():
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return {str(name): str(sha256) for name, sha256 in found.items()}
    except (ValueError, AttributeError) as error:
        do = "name another folder, or remove this file"
        raise CourseError(f"{file} is not a list of `labkit handout`: {do}.") from error


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write all files, or none where one of them is somebody's own.

    A file is overwritten only where `labkit handout` made it and nobody changed it since. Raises
    CourseError for the first that is not, and OSError where the folder cannot be written.
    """
    before = made_before(folder)
    for name, data in files.items():
        _refuse_others(folder / name, (before.get(name), _sha256(data)))
    for name, data in files.items():
        write_whole(folder / name, data)
    now = {name: _sha256(data) for name, data in files.items()}
    write_whole(folder / LIST, json.dumps(before | now, indent=1, sort_keys=True).encode())


def _refuse_others(file: Path, made: tuple[str | None, str]) -> None:
    """CourseError where a file is there that is neither of those that a handout makes."""
    if file.exists() and not (file.is_file() and _sha256(file.read_bytes()) in made):
        raise CourseError(
            f"{file} was not made by `labkit handout`, or was changed since. Nothing was written: "
            "name another folder with --out, or move this file away."
        )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
