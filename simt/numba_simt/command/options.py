"""The command line of `numba-simt`: its options, then a script, module or notebook of its own."""

import argparse
from collections.abc import Sequence

from numba_simt.command.running import Program
from numba_simt.watching.session import WATCHED

USAGE = "numba-simt [options] SCRIPT [ARGUMENTS]\n       numba-simt [options] -m MODULE [ARGUMENTS]"
DESCRIPTION = """\
Runs a script, a module or a notebook that imports numba.cuda, unchanged and without a GPU, on the
SIMT machine; looks for races and other mistakes in its kernels; and reports them on stderr.
"""
EPILOG = """\
exit code: 1 if an error was found (with --strict also for a warning), 2 for a mistake in this
command line; else the script's own, which is 1 where it raises, and 130 after Ctrl-C.

A line with the comment `# simt: ignore` or `# simt: ignore[race]` is silenced.
"""
FLAGS = {
    "--strict": "warnings count as errors, and what is legal on newer GPUs only is an error",
    "--fast": "give up watching a launch that takes longer than about a second, and run it plain: "
    "then only what stops a kernel is found, and what was seen until then",
    "--count": "print counters line by line, of the watched launches",
    "--compare": "run it on Numba's simulator, too, and tell where output or exit code differ",
    "--cpu": "do not mention that there is a GPU; the command never uses one",
    "--quiet": "print the verdict alone; nothing if nothing was found in kernels that were watched",
}
VALUES = {
    "--cc": ("X.Y", "compute capability of the GPU that is meant, such as 6.1"),
    "--launches": ("N", f"watch the first N launches of each kernel and shape; default {WATCHED}"),
    "--html": ("FILE", "write a page with source, counters and findings"),
    "--json": ("FILE", "write all that was found as JSON"),
    "--sarif": ("FILE", "write SARIF 2.1.0, for code hosts"),
    "--ignore": ("FILE", "findings to silence, one a line: `race kernels.py:12`"),
}


def parser() -> argparse.ArgumentParser:
    """Of what stands before the script."""
    found = argparse.ArgumentParser(
        prog="numba-simt",
        usage=USAGE,
        description=DESCRIPTION,
        epilog=EPILOG,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, text in FLAGS.items():
        found.add_argument(name, action="store_true", help=text)
    for name, (value, text) in VALUES.items():
        kind = _launches if name == "--launches" else str
        found.add_argument(name, metavar=value, type=kind, help=text)
    return found


def _launches(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of launches from 1 on")
    return int(text)


def read(words: Sequence[str]) -> tuple[argparse.Namespace, Program]:
    """The options, and what is to be run; SystemExit(2) for what is neither."""
    own, rest = _split(list(words))
    found = parser().parse_args(own)
    module = rest[:1] == ["-m"]
    rest = rest[module:]
    if not rest:
        missing = "a module behind -m" if module else "a script, a module or a notebook"
        parser().error(f"name {missing}.")
    return found, Program(rest[0], rest[1:], module)


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """This command's own words, and from the script, or -m, on those that are not."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "-"):
        if words[at] == "--":
            return words[:at], words[at + 1 :]
        at += 2 if words[at] in VALUES else 1
    return words[:at], words[at:]
