"""What a handout's first cell does once labkit is there: packages, then data.

Data are trained weights, looked for beside the notebook and in Drive, and the sample of CIFAR-10,
made anew from the archive of its makers. What is nowhere is asked for once, and kept in Drive.
Nothing here stops a notebook: what cannot be had is said in a sentence, and the cells that need it
will say so again.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import distributions
from pathlib import Path

from labkit import cifar10_files, datasets, extras

DATA = Path(cifar10_files.__file__).parent / "data"
DRIVE = Path("/content/drive")
KEPT = DRIVE / "MyDrive" / "four-machines"
KEPT_SAMPLE = "cifar10-sample"  # a folder: train.png, test.png, index.json
ARCHIVE = "cifar-10-python.tar.gz"
USUAL = re.compile(r"\d[\d.]*((a|b|rc|\.?post|\.?dev)\d+)*(\+[\w.]+)?")  # a version on the index


def ready(room: str, data: Mapping[str, str], sample: bool, places: Sequence[Path]) -> None:
    """Bring what a lesson needs beside labkit's code.

    room    its chapter's, whose packages are installed where they are missing
    data    files that belong into labkit/data, with the SHA-256 of each
    sample  whether the embedded sample of CIFAR-10 is needed
    places  folders in which files of the course may lie
    """
    install(room)
    for name, sha256 in data.items():
        if not (DATA / name).is_file():
            bring_file(name, sha256, places)
    if sample and not (cifar10_files.SAMPLE / "train.png").is_file():
        bring_sample(places)


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


def bring_file(name: str, sha256: str, places: Sequence[Path]) -> None:
    """Bring a file into labkit/data: from a place, else from an upload, which Drive then keeps."""
    content = _found(name, sha256, places)
    if content is None and _mount_drive():
        content = _found(name, sha256, [KEPT])
    if content is None:
        content = _uploaded(name, sha256)
        if content is None:
            print(f"{name} is not here: ask who gave you this notebook. Some cells will not work.")
            return
        _keep(name, content)
    (DATA / name).write_bytes(content)


def bring_sample(places: Sequence[Path]) -> None:
    """Make the sample of CIFAR-10: a kept one, or anew from the archive of its makers."""
    try:
        if _kept_sample(places):
            return
        full = _full_set(places)
    except (OSError, ValueError) as error:
        print(f"{error} Cells that show photographs will not work.")
        return
    if full is None:  # one was kept in Drive, which is there by now
        return
    cifar10_files.write_sample(full.train, full.test)
    for name in ("train.png", "test.png", "index.json"):
        _keep(f"{KEPT_SAMPLE}/{name}", (cifar10_files.SAMPLE / name).read_bytes())


def _kept_sample(places: Iterable[Path]) -> bool:
    """Take the sample from the first place that has it whole. True if there was one."""
    for place in places:
        kept = place / KEPT_SAMPLE
        if kept.is_dir() and cifar10_files.is_sample(kept):
            shutil.copytree(kept, cifar10_files.SAMPLE, dirs_exist_ok=True)
            return True
    return False


def _full_set(places: Sequence[Path]) -> datasets.Cifar10 | None:
    """CIFAR-10 from its makers, else from an archive that lies in a place or is uploaded.

    None where Drive, mounted meanwhile, had the sample. Raises ValueError where nothing has it.
    """
    try:
        return datasets.cifar10("full")
    except ValueError:
        if _mount_drive() and _kept_sample([KEPT]):
            return None
        for place in places:
            if (place / ARCHIVE).is_file():
                return datasets.import_copy(place / ARCHIVE)
        content = _uploaded(ARCHIVE)
        if content is None:
            raise
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, ARCHIVE)
        archive.write_bytes(content)
        return datasets.import_copy(archive)


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
    """Whether Drive is there now; Colab asks its user once, who may refuse."""
    try:
        from google.colab import drive
    except ImportError:
        return False
    try:
        if not KEPT.parent.is_dir():
            drive.mount(str(DRIVE))
    except Exception as error:  # refused, or not possible here
        print(f"Drive is not there ({error}): what is fetched now is fetched again next time.")
    return KEPT.parent.is_dir()


def _uploaded(name: str, sha256: str = "") -> bytes | None:
    """A file that the user chooses; None where there is no dialog, or it is another file."""
    try:
        from google.colab import files
    except ImportError:
        return None
    print(f"Choose {name}: it lies where your teacher put the notebooks.")
    for content in files.upload().values():
        if sha256 in ("", hashlib.sha256(content).hexdigest()):
            return content
        print(f"This is not {name}, or it was cut short: its SHA-256 differs.")
    return None


def _keep(name: str, content: bytes) -> None:
    """Keep a file in Drive, where it is mounted."""
    if not KEPT.parent.is_dir():
        return
    try:
        (KEPT / name).parent.mkdir(parents=True, exist_ok=True)
        (KEPT / name).write_bytes(content)
    except OSError as error:
        print(f"Drive could not keep {name} ({error.strerror}): it is asked for again next time.")
