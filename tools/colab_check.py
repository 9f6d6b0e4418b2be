"""The Colab replica: does the course install and run on the versions that Colab publishes?

    make colab-check                     all three images
    make colab-check ARGS="cpu tpu"      some of them
    make colab-check ARGS="cpu --chapter=03_fpga"
    make colab-check ARGS="--python=/path/to/python3.13 --keep"

uv looks for Python 3.13 or fetches it, unless --python names one; the environments are made in
build/colab/, and stay there with --keep.

For each image a Python 3.13 environment gets what Colab has preinstalled (tests/colab/IMAGE.txt).
Then each chapter's set-up cell installs labkit there, as it does for Colab's users, but from the
wheels of this folder; then the chapter's extra is installed with those versions as constraints. No
preinstalled package may change. For chapter 3 pynq's own selftest runs on a virtual board. Then
every lesson and its solution runs to the end on that stack. One line per step; the exit code is 1
when anything failed.
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
from pathlib import Path

import wheels
from lock import ROOT, uv_compile

from labkit.course.config import Config
from labkit.course.handout.payload import build_wheels
from labkit.course.source.twins import setup_cell

IMAGES = ("cpu", "gpu", "tpu")
PLATFORM = "x86_64-manylinux_2_35"  # Ubuntu 22.04
CHAPTERS = {"gpu": "01_gpu", "tpu": "02_tpu", "fpga": "03_fpga", "distributed": "04_distributed"}
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


def run(*command: object, cwd: Path = ROOT) -> str:
    """Standard output of a command; Failed with the last lines it printed when it fails."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV")
    environment = {k: v for k, v in os.environ.items() if k not in hidden}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True)
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


def simt_beside(wheel: Path) -> Path:
    """numba-simt's wheel: it is named in each command, so that no index is asked for it."""
    return next(wheel.parent.glob("numba_simt-*.whl"))


def install(image: str, python: Path, wheel: Path, constraints: Path) -> None:
    """Install labkit for all chapters that have lessons; try the others' extras dry."""
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    before = versions(python, wheel.parent)
    for extra, chapter in CHAPTERS.items():
        has_lessons = any((ROOT / "chapters" / chapter).glob("*.ipynb"))
        if has_lessons:
            seconds = run_setup_cell(python, wheel, chapter)
            say(image, f"the set-up cell of {chapter} ran in {seconds:.0f} s")
        dry = [] if has_lessons else ["--dry-run"]
        targets = simt_beside(wheel), f"labkit[{extra}] @ {wheel.as_uri()}"
        run(*pip, *dry, "--constraint", constraints, *targets, cwd=wheel.parent)
        say(
            image, f"labkit[{extra}] " + ("installed" if has_lessons else "would install (dry run)")
        )
    after = versions(python, wheel.parent)
    if changed := changes(before, after):
        raise Failed(f"installing labkit changed preinstalled packages: {', '.join(changed)}")
    added = sorted(set(after) - set(before))
    say(image, f"no preinstalled package changed; added: {', '.join(added)}")


def run_setup_cell(python: Path, wheel: Path, chapter: str) -> float:
    """Seconds that the first cell of a chapter's lessons takes, with labkit from a wheel."""
    cell = setup_cell(Config(ADDRESS, TAG, ROOT), chapter)
    simt = simt_beside(wheel).as_uri()
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


def execute(python: Path, notebook: Path, folder: Path) -> float:
    """Seconds to run a notebook to its end with a kernel of `python`; Failed names the cell."""
    import nbformat
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    class Replica(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=argv, display_name=kernel_name, language="python")

    node = nbformat.read(notebook, as_version=4)
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=Replica())
    client = NotebookClient(node, km=manager, timeout=600, resources={"metadata": {"path": folder}})
    own = {"LABKIT_HOME": str(folder), "LABKIT_PROGRESS": "off", "LABKIT_OFFLINE": "1"}
    own |= {"IPYTHONDIR": str(folder / "ipython"), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    start = time.perf_counter()
    try:
        client.execute(env={**os.environ, **own}, cleanup_kc=True)  # else the kernel would stay
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise Failed(f"{notebook.relative_to(ROOT)} does not run:\n{error}") from None
    return time.perf_counter() - start


def check(image: str, wheel: Path, base: str, chapter: str, keep: bool) -> None:
    """All steps for one image, with the lessons of one chapter or "*"; Failed when one fails."""
    folder = wheel.parent
    wanted, pylock = offered(image, folder)
    say(image, f"downloads at most {wheels.download(pylock)} MB (uv keeps them in its cache)")
    environment = ROOT / "build" / "colab" / image
    python = environment / "bin" / "python"
    try:
        uv("venv", "--quiet", "--no-config", "--clear", f"--python={base}", environment)
        uv("pip", "install", "--quiet", "--no-config", "--python", python, "-r", wanted)
        found = versions(python, folder)
        say(image, f"{len(found)} packages at Colab's versions, torch {found['torch']}")
        install(image, python, wheel, wanted)
        say(image, f"pynq's selftest on a virtual board: {selftest(python, folder)}")
        notebooks = sorted((ROOT / "chapters").glob(f"{chapter}/*.ipynb"))
        solved = sorted((ROOT / "chapters").glob(f"{chapter}/solutions/*.ipynb"))
        for notebook in notebooks + solved:
            seconds = execute(python, notebook, folder)
            say(image, f"{notebook.relative_to(ROOT)} ran to its end in {seconds:.0f} s")
        if not notebooks:
            raise Failed("there are no lessons to run in chapters/; `make build` writes them")
    finally:
        if not keep:
            shutil.rmtree(environment, ignore_errors=True)


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
    with tempfile.TemporaryDirectory(prefix="labkit-colab-") as folder:
        _, wheel = build_wheels(ROOT, Path(folder).resolve())
        for image in options.images or IMAGES:
            try:
                check(image, wheel, options.python, options.chapter, options.keep)
            except Failed as failure:
                say(image, f"FAILED: {failure}")
                failed.append(image)
    print(f"failed: {', '.join(failed)}" if failed else "every image passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
