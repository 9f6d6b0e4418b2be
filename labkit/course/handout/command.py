"""`labkit handout`: notebooks for a class on Colab, each complete in itself, and what to do.

The class's folder has the learners' notebooks, files of data and a page to start with. What is the
teacher's alone, solved notebooks and wheels, comes into a second folder beside it.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from labkit.course import CourseError
from labkit.course.catalogue import Course
from labkit.course.config import Config
from labkit.course.handout.pages import (
    READS,
    data_of,
    handed_out,
    start_pages,
    teachers_page,
    values_of,
)
from labkit.course.handout.payload import Files, build_wheels, data_file, files_of
from labkit.course.source.lesson import Lesson
from labkit.course.teaching.plans import teaching_pages
from labkit.files import write_whole

LIST = "handout.json"  # by its place, each file's SHA-256; two, while one replaces the other
PAGES = ("START.md", "START.ipynb", "AI-TUTORS.md")
DO = "Nothing was written: name another folder with --out, or move away what is there."


def handout(
    config: Config,
    out: str,
    wanted: Sequence[str] = (),
    solutions: bool = False,
    variant: str = "",
) -> int:
    """Write the handout of the wanted lessons (default: all) into the folder `out`.

    solutions    the solved notebooks and the wheels, too, into the folder `out`-teacher
    variant      the name from which the data of the exercises' cases are drawn; "": the course's

    Raises CourseError for what cannot be handed out, having written nothing.
    """
    course = Course(config)
    lessons = course.lessons_of(wanted)
    place = Path(out).absolute()
    teachers = place.with_name(f"{place.name}-teacher")
    refuse(place, [*PAGES, *_data(lessons), *_places(config, lessons, "learner")])
    if solutions:
        pages = teaching_pages(config, lessons)
        refuse(teachers, ["START.md", *pages, *_places(config, lessons, "solution")])
    files, wheels = _built(config)
    made = {name: data_file(files, name) for name in _data(lessons)}
    solved = wheels | teachers_page(place)
    values = values_of(config, lessons, files, wheels, variant)
    for lesson in lessons:
        made |= handed_out(config, lesson, "learner", values[lesson.name])
        if solutions:
            solved |= handed_out(config, lesson, "solution", values[lesson.name])
    there = {name for name in made_before(place) if (place / name).is_file()} | set(made)
    listed = [lesson for lesson in course.lessons() if f"{lesson.name}.ipynb" in there]
    made |= start_pages(listed)
    if solutions:
        write(teachers, solved | pages)
    write(place, made)
    largest = max(len(data) for name, data in made.items() if name.endswith(".ipynb"))
    print(f"{place}: {_count(lessons)}, the largest notebook has {largest:,} bytes.")
    print(f"START.md lists what lies there: {_count(listed)}.")
    left = there - set(made) - set(READS) - {f"{lesson.name}.ipynb" for lesson in listed}
    if left:
        names = ", ".join(sorted(left))
        print(f"Of an earlier handout, and no longer part of it: {names}. Remove what is not used.")
    if solutions:
        print(f"{teachers}: solved notebooks and wheels. Do not share this folder.")
    return 0


def _count(lessons: Sequence[Lesson]) -> str:
    return f"{len(lessons)} lesson{'' if len(lessons) == 1 else 's'}"


def _data(lessons: Iterable[Lesson]) -> list[str]:
    """The files of data that lessons read, each once."""
    return sorted({name for lesson in lessons for name in data_of(lesson)})


def _places(config: Config, lessons: Iterable[Lesson], twin: str) -> Iterator[str]:
    """Where the lessons' notebooks will lie; CourseError for one that is not built."""
    for lesson in lessons:
        stored = lesson.notebook(twin)
        if not stored.is_file():
            do = f"run `labkit build {lesson.name}`"
            raise CourseError(f"{config.relative(stored)} is not there: {do}.")
        yield stored.relative_to(config.chapters).as_posix()


def _built(config: Config) -> tuple[Files, Files]:
    """What the course's wheels hold, and the wheels; this takes half a minute."""
    with tempfile.TemporaryDirectory(prefix="labkit-handout-") as work:
        wheels = build_wheels(config.course_root(), Path(work))
        return files_of(wheels), {wheel.name: wheel.read_bytes() for wheel in wheels}


def made_before(folder: Path) -> dict[str, list[str]]:
    """What an earlier `labkit handout` made in a folder; CourseError where its list is damaged."""
    file = folder / LIST
    if not file.is_file():
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return {name: digests.split() for name, digests in found.items()}
    except (ValueError, AttributeError) as error:
        do = "name another folder, or remove this file"
        raise CourseError(f"{file} is not a list of `labkit handout`: {do}.") from error


def refuse(folder: Path, names: Iterable[str]) -> None:
    """CourseError where a folder cannot be written, or files of these names are somebody's own.

    A file may be replaced only where `labkit handout` made it and nobody changed it since.
    """
    files = {name: folder / name for name in names}
    parents = {parent for file in files.values() for parent in file.parents}
    no_folders = sorted(one for one in parents if one.exists() and not one.is_dir())
    if no_folders:
        raise CourseError(f"{no_folders[0]} is a file, where a folder is needed. {DO}")
    before = made_before(folder)
    strange = [str(file) for name, file in files.items() if not _ours(file, before.get(name, []))]
    if strange:
        raise CourseError(
            f"Not made by `labkit handout`, or changed since: {', '.join(strange)}. {DO}"
        )
    there = next(one for one in (folder, *folder.parents) if one.is_dir())
    try:
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        raise CourseError(f"{there} cannot be written ({error.strerror}). {DO}") from error


def _ours(file: Path, digests: Sequence[str]) -> bool:
    """Whether nothing is at this place, or a file with one of these digests."""
    if not file.exists():
        return True
    return file.is_file() and _sha256(file.read_bytes()) in digests


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write all files and the list of them, or none where `refuse` objects.

    The list comes first, with both digests of what is replaced: who is interrupted can go on.
    """
    refuse(folder, files)
    before = made_before(folder)
    now = {name: [_sha256(data)] for name, data in files.items()}
    both = {name: sorted({*before.get(name, []), *digests}) for name, digests in now.items()}
    _write_list(folder, before | both)
    for name, data in files.items():
        write_whole(folder / name, data)
    _write_list(folder, before | now)


def _write_list(folder: Path, digests: Mapping[str, list[str]]) -> None:
    listed = {name: " ".join(several) for name, several in digests.items()}
    write_whole(folder / LIST, json.dumps(listed, indent=1, sort_keys=True).encode())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
