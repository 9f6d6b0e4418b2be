"""The course's own RTL: the files that one of its modules is made of.

    simulate(library("conv3x3"), "conv3x3", ...)

The files lie in `labkit/fpga/rtl`, one module in each, called like its file.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from labkit.fpga.errors import RTLError
from labkit.fpga.sources import RTL, without_comments

_WORD = re.compile(r"\b[a-z]\w*\b")


def library(*tops: str, own: Mapping[str, str] | None = None) -> list[Path | str]:
    """The files of the modules `tops` and of all modules below them, each once, by name.

    own     name -> the text of a module that stands in for the course's

    A module is below another one if its name stands in the code. Raises RTLError for a module that
    is not there.
    """
    files = {path.stem: path for path in RTL.glob("*.sv")}
    found = set()
    to_read = list(tops)
    while to_read:
        name = to_read.pop()
        if name not in files:
            there = ", ".join(sorted(files))
            raise RTLError(f"There is no module {name!r} in labkit's RTL, which has {there}.")
        if name in found:
            continue
        found.add(name)
        words = set(_WORD.findall(without_comments(files[name].read_text("utf-8"))))
        to_read += words & files.keys()
    return [(own or {}).get(name, files[name]) for name in sorted(found)]
