"""`numba-simt`: from the command line to the exit code."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from numba_simt.command import options, running, surroundings
from numba_simt.command.comparison import compare, recorded
from numba_simt.command.stand_in import standing_in
from numba_simt.errors import KernelError
from numba_simt.execution.hazards import HazardError
from numba_simt.reports import json_report, page, sarif, terminal
from numba_simt.watching.session import WATCHED, Session
from numba_simt.watching.silencing import Rule, in_vain, read_rules
from numba_simt.watching.summary import Summary, summarise

USAGE_ERROR = 2
FILES: dict[str, Callable[[Summary], str]] = {
    "html": page.as_html,
    "json": json_report.as_json,
    "sarif": sarif.as_sarif,
}


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code is as `numba-simt --help` has it."""
    given, program = options.read(sys.argv[1:] if words is None else words)
    try:
        program.check()
        rules = read_rules(given.ignore) if given.ignore else []
        _check_files(given)
        surroundings.choose_target(given.cc, given.strict)
    except (running.CannotRun, OSError, ValueError) as error:
        print(f"numba-simt: {error}", file=sys.stderr)
        return USAGE_ERROR
    return _run(given, program, rules)


def _check_files(given: argparse.Namespace) -> None:
    """CannotRun, before anything runs, where a report could not be written."""
    for form in FILES:
        if path := getattr(given, form):
            if path == "-":
                raise running.CannotRun(
                    f"--{form} - has no file: name one, as stdout is the script's own."
                )
            try:
                Path(path).open("a").close()
            except OSError as error:
                why = f"--{form} {path} cannot be written: {error.strerror}."
                raise running.CannotRun(why) from None


def _run(given: argparse.Namespace, program: running.Program, rules: Sequence[Rule]) -> int:
    """Runs the program and reports; in a fork that came to the program's end, only the former."""
    session = Session(
        given.launches or WATCHED, given.fast, bool(given.count or given.html or given.json)
    )
    own = os.getpid()
    surroundings.count_children()
    with standing_in(), session.looking_on(), recorded(given.compare) as output:
        ending = running.run(program)
    if os.getpid() != own:
        sys.stderr.write(ending.traceback)
        return ending.code
    _note_last_refusal(session, ending)
    summary = summarise(session, program.name, ending, rules, given.strict)
    summary.notes += in_vain([*summary.findings, *summary.silenced], rules)
    summary.notes += _notes(given, program)
    summary.has_children = bool(surroundings.about_children())
    if given.compare and not ending.interrupted:
        summary.notes.append(compare(program, output.getvalue(), ending.code))
    _report(given, summary)
    return summary.exit_code


def _note_last_refusal(session: Session, ending: running.Ending) -> None:
    """What the machine refused outside of a launch, such as an option of cuda.jit."""
    error = ending.error
    refused = isinstance(error, KernelError) and not isinstance(error, HazardError)
    if refused and error is not session.refused_last:
        session.note_refusal(error, place=ending.place)


def _notes(given: argparse.Namespace, program: running.Program) -> list[str]:
    """Sentences on what lies around the run."""
    notes = surroundings.about_children()
    left_out = [line for cell in program.cells or () for line in cell.left_out]
    if left_out:
        notes.append(f"Left out of the notebook: {'; '.join(left_out)}.")
    if surroundings.gpu_is_there() and not given.cpu:
        notes.append(
            "There is an NVIDIA GPU here; the kernels ran on the SIMT machine all the same, as "
            "always with this command (--cpu leaves this line out)."
        )
    return notes


def _report(given: argparse.Namespace, summary: Summary) -> None:
    """To stderr, behind what the program printed; then into the files."""
    with suppress(OSError, ValueError):  # closed by the script, or by its reader
        sys.stdout.flush()
    for form, written in FILES.items():
        if path := getattr(given, form):
            try:
                Path(path).write_text(written(summary), "utf-8")
                summary.notes.append(f"{path} written.")
            except OSError as error:  # the disk is full, say
                summary.notes.append(f"{path} was not written: {error.strerror}.")
    terminal.write(summary, sys.stderr, given.quiet, given.count)
    if not summary.ending.interrupted:
        sys.stderr.write(summary.ending.traceback)
    sys.stderr.flush()
