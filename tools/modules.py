"""Writes labkit/README.md: each module of labkit and numba_simt, by its first sentence.

`python tools/modules.py` writes it, and `--check` only says whether it is what would be written.
Somebody who looks for a thing finds the line that names it there, and a link to its file.
"""

import argparse
import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "labkit"
README = PACKAGE / "README.md"
ROOMS = {  # from the ground up, as the floors of the design
    "../simt/numba_simt": "The SIMT machine, a distribution of its own",
    ".": "The ground floor: what all machines use",
    "figures": "Pictures and tables",
    "checks": "check, predict, hint, quiz",
    "gpu": "Chapter 01: the GPU",
    "tpu": "Chapter 02: the TPU",
    "fpga": "Chapter 03: the FPGA",
    "distributed": "Chapter 04: the cluster",
    "course": "Lessons, notebooks and learners",
}
HEAD = """\
# What is where in labkit

Written by `python tools/modules.py` from the first sentence of each module. A room imports only
from those above it in this list; the four machines never import each other.

What one lesson alone uses lies in that lesson's folder, `chapters/<chapter>/source/<name>/`, and is
imported as `labkit_lessons.<room>.<name>`.
"""


def first_sentence(path: Path) -> str:
    """The first sentence of a module's docstring, on one line.

    Raises ValueError for a module without a docstring.
    """
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    if not docstring:
        raise ValueError(f"{path} has no docstring. Begin it with a sentence that says what it is.")
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    return re.split(r"(?<=[.])\s", paragraph)[0]


def modules(package: Path) -> Iterator[tuple[str, Path]]:
    """Room and path of each module, room by room."""
    for room in ROOMS:
        folder = package / room
        found = folder.glob("*.py") if room == "." else folder.rglob("*.py")
        for path in sorted(found):
            yield room, path


def text(package: Path = PACKAGE) -> str:
    """What labkit/README.md should say."""
    parts = [HEAD]
    last = None
    for room, path in modules(package):
        if room != last:
            parts.append(f"\n## {ROOMS[room]}\n\n| module | what it is |\n|---|---|\n")
            last = room
        link = os.path.relpath(path, package)
        inside = link.removeprefix("../simt/")
        parts.append(f"| [{inside}]({link}) | {first_sentence(path)} |\n")
    return "".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    given = parser.parse_args()
    if not given.check:
        README.write_text(text(), encoding="utf-8")
        return 0
    if README.read_text(encoding="utf-8") == text():
        return 0
    print(f"{README.name} of labkit is not what its modules say. Run: python tools/modules.py")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
