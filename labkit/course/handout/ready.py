"""What a handout's first cell does once labkit is there: packages, then data.

Data are trained weights and the sample of CIFAR-10, one file each. The first cell looks for it
beside the notebook and in Drive; makes the sample anew from the archive of its makers; and asks
once. Nothing here stops a notebook: what cannot be had is said in a sentence, with what to do.
"""

import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import distributions
from pathlib import Path

from labkit import cifar10_files, datasets, extras

DATA = Path(cifar10_files.__file__).parent / "data"
DRIVE = Path("/content/drive")
SHARED = DRIVE / "MyDrive" / "four-machines"  # the class's folder: a student only reads it
OWN = DRIVE / "MyDrive" / "four-machines-mine"  # the student's, with progress.json
SAMPLE = "cifar10-sample.tar"  # index.json, test.png, train.png
ARCHIVE = "cifar-10-python.tar.gz"
NOT_HERE = """\
Not here: {names}. Cells that read such a file will not work.
Do one of these, then run this cell again:
  1. In Drive, add a shortcut to your class's folder four-machines to My Drive. Then mount Drive
     here: the folder button at the left edge, then the button with Drive's sign.
  2. Download what is missing from your class's folder, and upload it here: the same folder
     button, then the button with an arrow upwards."""
ASKED: set[str] = set()  # for what a dialog was opened: in one session, each is opened once
USUAL = re.compile(r"\d[\d.]*((a|b|rc|\.?post|\.?dev)\d+)*(\+[\w.]+)?")  # a version on the index


def ready(room: str, data: Mapping[str, str], places: Sequence[Path]) -> None:
    """Bring what a lesson needs beside labkit's code.

    room    its chapter's, whose packages are installed where they are missing
    data    files that belong into labkit/data, with the SHA-256 of each
    places  folders in which files of the course may lie
    """
    install(room)
    for name, sha256 in data.items():
        if is_here(name):
            continue
        try:
            bring(name, sha256, places)
        except OSError as error:
            print(f"{name} cannot be read or laid into labkit ({error}).")
    missing = [name for name in data if not is_here(name)]
    if missing:
        print(NOT_HERE.format(names=", ".join(missing)))


def is_here(name: str) -> bool:
    """Whether labkit has a file of data, or the sample's pictures."""
    file = cifar10_files.SAMPLE / "train.png" if name == SAMPLE else DATA / name
    return file.is_file()


def install(room: str) -> None:
    """Install what of a chapter's packages is missing; what is there keeps its version."""
    absent = extras.missing(room)
    if room == "gpu":
        absent += extras.missing("compiler")
    if absent:
        _pip(absent)
    if room == "fpga" and sys.platform == "linux" and extras.version("pynq") is None:
        from labkit.fpga.board.pynq_package.compatibility import PYNQ

        _pip(["--no-deps", PYNQ])  # it asks for older packages than Colab's


def _pip(what: list[str]) -> None:
    named = ", ".join(one for one in what if not one.startswith("-"))
    print(f"This chapter needs what is not here, and pip installs it: {named}.")
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder, "constraints.txt")
        constraints.write_text("\n".join(_versions()))
        command = [sys.executable, "-P", "-m", "pip", "install", "-q", "-c", str(constraints)]
        done = subprocess.run([*command, *what], capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        print(f"pip could not: {said[:200]}. What needs these packages will not work.")


def _versions() -> list[str]:
    """What is installed, as pip's constraints: "numpy==2.1.3"."""
    here = {one.name: one.version for one in reversed([*distributions()]) if one.name}
    ours = ("labkit", "numba-simt")
    found = [f"{n}=={v}" for n, v in here.items() if n not in ours and USUAL.fullmatch(v)]
    return sorted(found)


def bring(name: str, sha256: str, places: Sequence[Path]) -> None:
    """Bring a file of data into labkit/data, from the first way that has it, if one has."""
    content = _found(name, sha256, places)
    if content is None and _mount_drive():
        content = _found(name, sha256, (SHARED, OWN))
    if content is None and name == SAMPLE and _made_anew(places):
        return
    if content is None:
        content = _uploaded(name, sha256)
    if content is not None:
        _put(name, content)


def _put(name: str, content: bytes) -> None:
    """Lay a file of data to where labkit reads it."""
    if name != SAMPLE:
        (DATA / name).write_bytes(content)
        return
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(cifar10_files.SAMPLE, filter="data")


def _made_anew(places: Iterable[Path]) -> bool:
    """Whether the sample was made from its makers' archive: from a place, or fetched (163 MiB)."""
    try:
        full = _full_set(places)
    except (OSError, ValueError) as error:
        reason = str(error.__cause__ or error).rstrip(".")
        print(f"{SAMPLE} cannot be made from the archive of CIFAR-10: {reason}.")
        return False
    cifar10_files.write_sample(full.train, full.test)
    return True


def _full_set(places: Iterable[Path]) -> datasets.Cifar10:
    for place in places:
        if (place / ARCHIVE).is_file():
            return datasets.import_copy(place / ARCHIVE)
    return datasets.cifar10("full")


def _found(name: str, sha256: str, places: Iterable[Path]) -> bytes | None:
    """A file's content, from the first place that has it whole."""
    for place in places:
        file = place / name
        if file.is_file():
            content = file.read_bytes()
            if hashlib.sha256(content).hexdigest() == sha256:
                return content
            print(f"{file} was cut short, or is of another version: its SHA-256 differs.")
    return None


def _mount_drive() -> bool:
    """Whether Drive is there since now; Colab asks its user once, who may refuse."""
    if OWN.parent.is_dir() or not _may_ask("Drive"):
        return False
    from google.colab import drive

    try:
        drive.mount(str(DRIVE))
    except Exception as error:  # refused, or not possible here
        print(f"Drive is not there ({error}).")
    return OWN.parent.is_dir()


def _may_ask(what: str) -> bool:
    """Whether a dialog can be opened, for the first time in this session."""
    try:
        import google.colab  # noqa: F401
    except ImportError:
        return False
    first = what not in ASKED
    ASKED.add(what)
    return first


def _uploaded(name: str, sha256: str) -> bytes | None:
    """A file that the user chooses; None where there is no dialog, or it is another file."""
    if not _may_ask(name):
        return None
    from google.colab import files

    print(f"Choose {name}: it lies where your teacher put the notebooks.")
    for content in files.upload().values():
        if hashlib.sha256(content).hexdigest() == sha256:
            _keep(name, content)
            return content
        print(f"This is not {name}, or it was cut short: its SHA-256 differs.")
    return None


def _keep(name: str, content: bytes) -> None:
    """Keep a file in the student's Drive, where it is mounted."""
    if not OWN.parent.is_dir():
        return
    try:
        OWN.mkdir(exist_ok=True)
        (OWN / name).write_bytes(content)
    except OSError as error:
        print(f"Drive could not keep {name} ({error.strerror}): it is asked for again next time.")
