"""The command `labkit`: a command is the function of its name in its module of `labkit.course`.

A module is imported when its command runs, so `--help` is instant.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence

COMMANDS = {
    "doctor": "say what this machine is, what each chapter runs on here, and what to install",
    "lab": "open JupyterLab at the course's start page (further arguments go to JupyterLab)",
    "build": "build the lessons' notebooks and CLAIMS.md from their sources",
    "verify": "run every lesson, or a chapter's, and compare with its stored outputs",
    "data": "show which CIFAR-10 is used here, or take a copy you already have",
    "progress": "show what you have solved so far, chapter by chapter",
    "lines": "count the lines of Python in labkit, room by room",
}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="labkit", description="The course Four Machines.")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    made = {name: commands.add_parser(name, help=text) for name, text in COMMANDS.items()}
    made["doctor"].add_argument("--json", action="store_true", help="print JSON")
    made["build"].add_argument("wanted", nargs="?", help="lesson, chapter or source; default: all")
    made["build"].add_argument("--check", action="store_true", help="compare and examine only")
    made["build"].add_argument("--force", action="store_true", help="execute unchanged lessons too")
    made["verify"].add_argument("wanted", nargs="?", help="for example 01_gpu; default: all")
    made["data"].add_argument("--from", dest="path", metavar="PATH", help="the official CIFAR-10")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. A failure is one sentence on stderr and exit code 1, never a traceback."""
    options, rest = parser().parse_known_args(arguments)
    if rest and options.command != "lab":
        parser().error(f"unrecognized arguments: {' '.join(rest)}")
    from labkit.course import CourseError

    try:
        return _run(rest, **vars(options))
    except KeyboardInterrupt:
        print("labkit: stopped.", file=sys.stderr)
        return 130
    except (CourseError, OSError, ValueError, ImportError, RecursionError) as error:
        print(f"labkit {options.command}: {error}", file=sys.stderr)
        return 1


def _run(rest: list[str], command: str, **options: object) -> int:
    """The command's exit code."""
    from labkit.course.config import config

    if command == "data":
        from labkit import datasets

        print(datasets.import_copy(options["path"]) if options["path"] else datasets.describe())
        return 0
    run = getattr(importlib.import_module(f"labkit.course.{command}"), command)
    if command == "doctor":
        print(run(**options))
        return 0
    return run(config(), rest) if command == "lab" else run(config(), **options)
