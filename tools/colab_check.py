"""The Colab replica: do the handouts run on the versions that Colab publishes?

    make colab-check                     all three images
    make colab-check ARGS="cpu tpu"      some of them
    make colab-check ARGS="cpu --chapter=03_fpga"
    make colab-check ARGS="--python=/path/to/python3.13 --keep"

uv looks for Python 3.13 or fetches it, unless --python names one; the environments are made in
build/colab/, and stay there with --keep.

For each image a Python 3.13 environment gets what Colab has preinstalled (tests/colab/IMAGE.txt).
Then `labkit handout` writes every lesson, the learner's notebook and the solved one, and each runs
to its end there, from a folder with nothing else, as Colab would run it: its own first cell brings
labkit, the chapter's packages, and data from the class's folder. No preinstalled package may
change. The GPU image has NVIDIA's compiler outside of Python, in /usr/local/cuda: that of the same
version comes from its wheel, into a folder of its own. Then pynq's own selftest runs on a virtual
board, and each chapter's set-up cell, which is for a course with a public address, installs labkit
from wheels. One line per step; the exit code is 1 when anything failed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import wheels
from lock import ROOT, uv_compile

from labkit.course.config import Config, config
from labkit.course.handout.command import handout
from labkit.course.source.twins import setup_cell

IMAGES = ("cpu", "gpu", "tpu")
PLATFORM = "x86_64-manylinux_2_35"  # Ubuntu 22.04
LIST = """\
import json, re
from importlib.metadata import distributions
found = {re.sub("[-_.]+", "-", d.name).lower(): d.version for d in distributions()}
print(json.dumps(found))
"""
ADDRESS, TAG = "https://example.org/course", "v0"  # of the set-up cells that run here
AS_ON_COLAB = """\
import sys, types
sys.modules["google.colab"] = types.ModuleType("google.colab")
"""
NVVM = "nvidia-cuda-nvcc-cu12==12.8.*"  # Colab's GPU image has CUDA 12.8
RUN_HANDOUT = ROOT / "tests" / "project" / "run_handout.py"
FAILINGS = ("Check failed", "will not work", "pip could not")  # what only a failure prints
PATIENCE = 3600  # seconds for one notebook: this only ends a hang
SELFTEST = """\
import warnings
warnings.simplefilter("ignore")
from labkit.fpga.board import VirtualBoard
with VirtualBoard(address="127.0.0.1") as board:  # the selftest asks for a port
    from pynq.remote.selftest.runner import main
    main(["--ip", board.address, "--port", str(board.port), "--bitstream", board.bitstream])
"""


class Failed(Exception):
    """One step went wrong; the message is the sentence to print."""


def run(*command: object, cwd: Path = ROOT, **variables: str) -> str:
    """What a command prints; Failed with the last lines it printed when it fails."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV")
    environment = {k: v for k, v in os.environ.items() if k not in hidden} | variables
    words = [str(word) for word in command]
    options = {"capture_output": True, "text": True, "timeout": PATIENCE}
    done = subprocess.run(words, cwd=cwd, env=environment, **options)
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-12:])
        raise Failed(f"`{' '.join(words[:6])} ...` failed:\n{tail}")
    return done.stdout


def uv(*arguments: object) -> str:
    return run(sys.executable, "-m", "uv", *arguments)


def say(image: str, text: str) -> None:
    print(f"{image}: {text}", flush=True)


def offered(image: str, folder: Path) -> tuple[Path, str]:
    """(requirements, pylock): Colab's versions, as far as the package index here offers them.

    A version with a local label (torch 2.11.0+cpu) lies on PyTorch's own index. Where that is not
    configured, the same version without the label stands in for it, and this is said.
    """
    lines = (ROOT / "tests" / "colab" / f"{image}.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    wanted = folder / f"{image}.txt"
    choice = ["--no-config", f"--python-platform={PLATFORM}", "--format=pylock.toml"]
    for form in ("as published", "without label"):
        if form == "without label":
            pins = [re.sub(r"\+\w+$", "", line) for line in pins]
        wanted.write_text("\n".join([*pins, ""]), "utf-8")
        try:
            pylock = uv_compile(wanted, *choice, python="3.13", cpu=True)
        except RuntimeError as error:
            failure = str(error)
        else:
            if form == "without label":
                labelled = [line for line in lines if "+" in line]
                say(image, f"{', '.join(labelled)}: not on the index here, taken without the label")
            return wanted, pylock
    raise Failed(failure)


def versions(python: Path, folder: Path) -> dict[str, str]:
    return json.loads(run(python, "-c", LIST, cwd=folder))


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """What happened to the packages that were there before: "numpy 2.1.3 -> 1.26.4"."""
    return [f"{n} {v} -> {after.get(n, 'gone')}" for n, v in before.items() if after.get(n) != v]


def run_setup_cell(python: Path, wheel: Path, chapter: str) -> float:
    """Seconds that the set-up cell of a chapter's lessons takes, with labkit from a wheel."""
    cell = setup_cell(Config(ADDRESS, TAG, ROOT), chapter)
    simt = next(wheel.parent.glob("numba_simt-*.whl")).as_uri()
    ours = cell.replace(f"git+{ADDRESS}@{TAG}#subdirectory=simt", simt)
    ours = ours.replace(f"git+{ADDRESS}@{TAG}", wheel.as_uri())
    start = time.perf_counter()
    run(python, "-c", AS_ON_COLAB + ours, cwd=wheel.parent)
    return time.perf_counter() - start


def selftest(python: Path, folder: Path) -> str:
    """The last line of pynq's own selftest on a virtual board; Failed if a step failed."""
    said = run(python, "-c", SELFTEST, cwd=folder)
    summary = [line for line in said.splitlines() if "summary:" in line]
    if not summary or "11 passed, 0 failed" not in summary[-1]:
        raise Failed(f"pynq's selftest on a virtual board:\n{said}")
    return summary[-1].strip()


def handed_out(folder: Path, chapter: str) -> Iterator[tuple[str, Path, Path]]:
    """(name, notebook, its chapter in the class's folder): learners' first, then solved ones."""
    teachers = folder.with_name(f"{folder.name}-teacher")
    learners = sorted(folder.glob(f"{chapter}/*.ipynb"))
    solved = sorted(teachers.glob(f"{chapter}/solutions/*.ipynb"))
    for notebook in learners:
        yield f"{notebook.parent.name}/{notebook.name}", notebook, notebook.parent
    for notebook in solved:
        room = notebook.parent.parent.name
        yield f"{room}/solutions/{notebook.name}", notebook, folder / room


def outside_python(image: str, python: Path, work: Path) -> dict[str, str]:
    """Environment variables of what the image has besides its packages: CUDA's NVVM, or nothing."""
    if image != "gpu":
        return {}
    folder = work / "cuda"
    options = ["--quiet", "--no-config", "--no-deps", "--python", python, "--target", folder]
    uv("pip", "install", *options, NVVM)
    home = folder / "nvidia" / "cuda_nvcc"
    (home / "nvvm" / "lib64" / "libnvvm.so.4").symlink_to("libnvvm.so")  # as the toolkit has it
    return {"CUDA_HOME": str(home)}


def execute(python: Path, notebook: Path, place: Path, home: Path, has: dict[str, str]) -> str:
    """How long a handout ran to its end in `place`; Failed where a cell raised or said failure.

    `has`: variables of what the image has outside of Python.
    """
    start = time.perf_counter()
    own = {"HOME": str(home), "IPYTHONDIR": str(home / "ipython"), "MPLBACKEND": "agg"} | has
    said = run(python, "-P", RUN_HANDOUT, notebook, cwd=place, **own)
    if failings := [line for line in said.splitlines() if any(f in line for f in FAILINGS)]:
        raise Failed("\n".join(failings))
    first = re.search(r"^The first cell took (\d+) s", said, re.MULTILINE)
    return f"{time.perf_counter() - start:.0f} s, its first cell in {first[1]} s"


def check(image: str, folder: Path, base: str, chapter: str, keep: bool) -> int:
    """All steps for one image, with the handouts in `folder` of one chapter or "*".

    Returns how many handouts failed; each is said. Failed when another step fails.
    """
    work = folder.parent
    wanted, pylock = offered(image, work)
    say(image, f"downloads at most {wheels.download(pylock)} MB (uv keeps them in its cache)")
    environment = ROOT / "build" / "colab" / image
    python = environment / "bin" / "python"
    failed = 0
    home = Path(tempfile.mkdtemp(dir=work))
    try:
        uv("venv", "--quiet", "--no-config", "--clear", f"--python={base}", environment)
        uv("pip", "install", "--quiet", "--no-config", "--python", python, "-r", wanted)
        before = versions(python, work)
        say(image, f"{len(before)} packages at Colab's versions, torch {before['torch']}")
        has = outside_python(image, python, work)
        for name, notebook, place in handed_out(folder, chapter):
            try:
                took = execute(python, notebook, place, home, has)
                say(image, f"{name} ran to its end in {took}")
            except (Failed, subprocess.TimeoutExpired) as failure:
                failed += 1
                say(image, f"{name} FAILED: {failure}")
        set_up(image, python, folder, chapter)
        after = versions(python, work)
        if changed := changes(before, after):
            raise Failed(f"the lessons changed preinstalled packages: {', '.join(changed)}")
        added = sorted(set(after) - set(before))
        say(image, f"no preinstalled package changed; added: {', '.join(added)}")
    finally:
        if not keep:
            shutil.rmtree(environment, ignore_errors=True)
    return failed


def set_up(image: str, python: Path, folder: Path, chapter: str) -> None:
    """Each chapter's set-up cell, with labkit from the wheels of the handout; pynq's selftest."""
    wheel = next(folder.with_name(f"{folder.name}-teacher").glob("labkit-*.whl"))
    for place in sorted((ROOT / "chapters").glob(chapter)):
        if (place / "source").is_dir():
            seconds = run_setup_cell(python, wheel, place.name)
            say(image, f"the set-up cell of {place.name} ran in {seconds:.0f} s")
    if chapter in ("*", "03_fpga"):
        said = selftest(python, folder.parent)
        say(image, f"pynq's selftest on a virtual board: {said}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("images", nargs="*", metavar="IMAGE", help="cpu, gpu, tpu; default: all")
    parser.add_argument("--python", default="3.13", metavar="PATH", help="a Python 3.13")
    parser.add_argument("--chapter", default="*", help="run the lessons of this one only")
    parser.add_argument("--keep", action="store_true", help="keep the environments")
    options = parser.parse_args()
    if unknown := set(options.images) - set(IMAGES):
        parser.error(f"unknown image {', '.join(sorted(unknown))}; there are {', '.join(IMAGES)}")
    failed = []
    with tempfile.TemporaryDirectory(prefix="labkit-colab-") as work:
        folder = Path(work).resolve() / "four-machines"
        handout(config(ROOT), str(folder), solutions=True)
        for image in options.images or IMAGES:
            try:
                if check(image, folder, options.python, options.chapter, options.keep):
                    failed.append(image)
            except Failed as failure:
                say(image, f"FAILED: {failure}")
                failed.append(image)
    print(f"failed: {', '.join(failed)}" if failed else "every image passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
