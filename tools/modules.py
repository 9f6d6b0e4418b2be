"""Writes the map of labkit and numba_simt: labkit/README.md has the rooms, each room its modules.

`python tools/modules.py` writes both, and `--check` only says whether they are what would be
written. Somebody who looks for a thing finds the room in the README, and the module in the
docstring of the room's `__init__.py`, by its first sentence.
"""

import argparse
import ast
import io
import os
import re
import textwrap
import tokenize
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "labkit"
README = PACKAGE / "README.md"
SIMT = "../simt/numba_simt"  # whose own docstring lists its rooms
FLOORS = {  # from the ground up, as the floors of the design
    SIMT: "The SIMT machine, a distribution of its own",
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

The rooms, each with what its modules are for; `python tools/modules.py` writes this page. The
docstring of a room's `__init__.py` lists its modules. A floor imports only from those above it on
this page; the four machines never import each other.

What one lesson alone uses lies in that lesson's folder, `chapters/<chapter>/source/<name>/`, and is
imported as `labkit_lessons.<room>.<name>`.
"""
MODULES = "\nModules (written by tools/modules.py):\n\n"
WIDTH = 100


def docstring_of(path: Path) -> str:
    """A module's docstring as it stands there; ValueError for a module without one."""
    docstring = _first_string(path.read_text("utf-8"))
    if not docstring:
        raise ValueError(f"{path} has no docstring. Begin it with a sentence that says what it is.")
    return docstring


def _first_string(source: str) -> str:
    """The string that a module begins with; "" for none. What follows it is not read."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    code = (token for token in tokens if token.type not in (tokenize.COMMENT, tokenize.NL))
    first, second = next(code), next(code, None)
    if first.type != tokenize.STRING or second is None or second.type != tokenize.NEWLINE:
        return ""
    text = ast.literal_eval(first.string)
    return text if isinstance(text, str) else ""


def first_sentence(path: Path) -> str:
    """The first sentence of a module's docstring, on one line."""
    paragraph = " ".join(docstring_of(path).split("\n\n")[0].split())
    return re.split(r"(?<=[.])\s", paragraph)[0]


def rooms(package: Path, floor: str) -> list[Path]:
    """The folders of a floor that hold modules, the floor itself first."""
    if floor == ".":
        return [package]
    return sorted(path.parent for path in (package / floor).rglob("__init__.py"))


def text(package: Path = PACKAGE) -> str:
    """What labkit/README.md should say."""
    parts = [HEAD]
    for floor, title in FLOORS.items():
        parts.append(f"\n## {title}\n\n| room | what its modules are for |\n|---|---|\n")
        for room in rooms(package, floor)[: 1 if floor == SIMT else None]:
            link = os.path.relpath(room, package)
            inside = "labkit" if link == "." else link.removeprefix("../simt/")
            parts.append(f"| [{inside}]({link}) | {first_sentence(room / '__init__.py')} |\n")
    return "".join(parts)


def listed(room: Path) -> Iterator[str]:
    """The lines that name a room's modules and the rooms in it, each with its first sentence."""
    inner = [path for path in room.iterdir() if (path / "__init__.py").exists()]
    found = {f"{path.name}/": path / "__init__.py" for path in inner if room != PACKAGE}
    found |= {path.stem: path for path in room.glob("*.py") if path.name != "__init__.py"}
    longest = max(map(len, found), default=0)
    for name in sorted(found):
        begin = f"{name:{longest}}  "
        yield textwrap.fill(
            first_sentence(found[name]).replace("\\", "\\\\"),
            WIDTH,
            initial_indent=begin,
            subsequent_indent=" " * len(begin),
            break_on_hyphens=False,
        )


def with_modules(room: Path) -> str:
    """What the `__init__.py` of a room should say: as it is, with its modules listed anew."""
    path = room / "__init__.py"
    code, docstring = path.read_text("utf-8"), docstring_of(path)
    own = docstring.partition(MODULES)[0].rstrip()
    lines = [*listed(room)]
    new = f"{own}\n{MODULES}" + "\n".join(lines) + "\n" if lines else own
    return code.replace(docstring, new, 1)


def written(package: Path = PACKAGE) -> dict[Path, str]:
    """All files of the map, with what they should say."""
    every = [room for floor in FLOORS for room in rooms(package, floor)]
    files = {room / "__init__.py": with_modules(room) for room in every}
    return files | {package / README.name: text(package)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    given = parser.parse_args()
    stale = {path: new for path, new in written().items() if path.read_text("utf-8") != new}
    if not given.check:
        for path, new in stale.items():
            path.write_text(new, "utf-8")
        return 0
    for path in stale:
        print(f"{path} is not what the modules say. Run: python tools/modules.py")
    return bool(stale)


if __name__ == "__main__":
    raise SystemExit(main())
