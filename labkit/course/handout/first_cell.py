"""The first cell of a handout: it takes labkit from the first place that has it, and says which.

`labkit handout` writes this text into each notebook, with values of its own between the two lines
of dashes. It runs before labkit is there, so it uses Python's own library alone.
"""

import base64
import hashlib
import importlib.util
import io
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

# --- Each notebook has values of its own here.
LESSON = ""  # the package of this lesson: labkit_lessons.gpu.tiles
ROOM = ""  # of the chapter, whose packages it needs: gpu
VARIANT = ""  # the name from which the data of the exercises' cases are drawn, if it has one
WHEELS: dict[str, str] = {}  # each file's SHA-256
ADDRESSES: list[str] = []  # what pip takes from the course's public address, if there is one
DATA: dict[str, str] = {}  # files beside the notebooks that this lesson reads: each one's SHA-256
PAYLOAD_SHA256 = ""
PAYLOAD: tuple[str, ...] = ()  # labkit, and what this lesson adds: tar, xz, base85

# --- From here on, all first cells are the same.
DRIVE = Path("/content/drive/MyDrive")
FOLDERS = (DRIVE / "four-machines", DRIVE / "four-machines-mine")  # the class's, the student's own
PLACES = (Path(), Path(".."), Path("/content"), *FOLDERS)  # where files of the course may lie
UNPACKED = Path.home() / ".cache" / "four-machines"
FAILURES = (OSError, ValueError, EOFError, ImportError, lzma.LZMAError, tarfile.TarError)


def is_here() -> bool:
    """Whether labkit and this lesson can be imported."""
    importlib.invalidate_caches()
    try:
        return all(map(importlib.util.find_spec, ("labkit", LESSON)))
    except ModuleNotFoundError:
        return False


def sha256(data: bytes) -> str:
    """The digest by which a file is known to be whole."""
    return hashlib.sha256(data).hexdigest()


def pip(*what: object) -> None:
    """Install wheels, or from addresses; raises OSError with pip's last words."""
    command = [sys.executable, "-P", "-m", "pip", "install", "-q", "--no-deps"]
    done = subprocess.run([*command, *map(str, what)], capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"pip says: {done.stderr.strip()[-200:]}")


def here() -> str:
    """Nothing to do: whether it is here is asked after each way."""
    return "is here already"


def wheels() -> str:
    """The wheels beside the notebook, in Colab's working folder or in Drive."""
    found = {}
    for place in PLACES:
        for name, wanted in WHEELS.items():
            file = place / name
            if not file.is_file():
                continue
            if sha256(file.read_bytes()) == wanted:
                found.setdefault(name, file.resolve())
            else:
                print(f"{file} was cut short, or is of another version: its SHA-256 differs.")
    if not found or len(found) < len(WHEELS):
        return ""
    pip(*found.values())
    folders = {str(file.parent) for file in found.values()}
    return f"comes from the wheels in {' and '.join(folders)}"


def address() -> str:
    """The course's public address, where it has one."""
    if not ADDRESSES:
        return ""
    pip(*ADDRESSES)
    return "comes from the course's address"


def payload() -> str:
    """What this cell carries, unpacked into a folder that all of its processes import from."""
    if not PAYLOAD:
        return ""
    if sha256("".join(PAYLOAD).encode()) != PAYLOAD_SHA256:
        raise ValueError("the text in this cell is not whole: open the teacher's notebook again")
    folder = UNPACKED / PAYLOAD_SHA256[:16]
    if not folder.is_dir():
        UNPACKED.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=UNPACKED))
        for part in PAYLOAD:
            content = io.BytesIO(lzma.decompress(base64.b85decode(part)))
            with tarfile.open(fileobj=content) as archive:
                archive.extractall(unfinished, filter="data")
        unfinished.rename(folder)
    sys.path.insert(0, str(folder))
    others = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{others}" if others else str(folder)
    return "was carried by this cell"


def upload() -> str:
    """The wheels, from a dialog."""
    from google.colab import files

    print(f"Choose these files: {', '.join(WHEELS)}. Your teacher's `labkit handout` makes them.")
    sent = {sha256(content): content for content in files.upload().values()}
    folder = Path(tempfile.mkdtemp())
    for name, wanted in WHEELS.items():
        if wanted not in sent:
            raise ValueError(f"{name} was not among the files, or was cut short")
        (folder / name).write_bytes(sent[wanted])
    pip(*(folder / name for name in WHEELS))
    return "was uploaded"


def take_labkit() -> None:
    """Try each way in turn, until labkit is here."""
    for way in (here, wheels, address, payload, upload):
        try:
            said = way()
        except FAILURES as error:
            print(f"labkit: {way.__name__} did not work ({error}).")
            continue
        if said and is_here():
            return print(f"labkit {said}.")
    raise ModuleNotFoundError("labkit is not here by any way: ask who gave you this notebook.")


if __name__ == "__main__":
    if VARIANT:
        os.environ["LABKIT_SEED"] = VARIANT
    take_labkit()
    from labkit import hardware
    from labkit.course.handout.ready import ready

    ready(ROOM, DATA, PLACES)
    hardware.runs_on(ROOM)
