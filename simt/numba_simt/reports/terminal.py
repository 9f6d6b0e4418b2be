"""The report as text for a terminal: the verdict first, each finding with both of its lines."""

import os
import shutil
from collections.abc import Iterator
from textwrap import fill
from typing import TextIO

from numba_simt.profiling import profile_table
from numba_simt.profiling.counters import derive
from numba_simt.watching.findings import ERROR, WARNING, Finding, shown_path
from numba_simt.watching.session import KernelRecord, Refusal
from numba_simt.watching.sources import lines_of
from numba_simt.watching.summary import Summary, plural

WIDTH = 100
_COLOURS = {ERROR: "31", WARNING: "33", "note": "36", "good": "32", "bold": "1", "dim": "2"}


class Paint:
    """Puts text into ANSI colours where the stream is a terminal and NO_COLOR is not set."""

    def __init__(self, stream: TextIO) -> None:
        self.on = bool(getattr(stream, "isatty", bool)()) and not os.environ.get("NO_COLOR")

    def __call__(self, colour: str, text: str) -> str:
        """The text in a colour, or in that of a severity."""
        return f"\033[{_COLOURS.get(colour, '0')}m{text}\033[0m" if self.on else text


def write(summary: Summary, stream: TextIO, quiet: bool = False, counters: bool = False) -> None:
    """Writes the report. `quiet`: the verdict alone, and that only where there is something."""
    paint = Paint(stream)
    told = summary.findings or summary.refusals or summary.unwatched or summary.ending.code
    if quiet and not told:
        return
    colour = WARNING if summary.unwatched else "good"
    if summary.failed or summary.refusals:
        colour = ERROR
    print(f"numba-simt: {paint(colour, summary.verdict)}", file=stream)
    if quiet:
        return
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
    for block in _blocks(summary, paint, width):
        print(f"\n{block}", file=stream)
    if counters:
        for kernel in summary.kernels:
            if kernel.lines:
                print(f"\n{_table(kernel)}", file=stream)
    print(file=stream)
    for line in _numbers(summary):
        print(fill(line, width, subsequent_indent="  "), file=stream)


def brief(summary: Summary) -> Iterator[str]:
    """The verdict, a line for each finding and refusal, and the numbers."""
    yield summary.verdict
    for one in summary.findings:
        seen = f"{plural(one.count, 'time')} in {plural(one.launches, 'launch')}"
        kind = f"{one.severity}: {one.kind.replace('_', ' ')}"
        yield f"{one.shown_file}:{one.line}: {kind} in `{one.kernel}`, {seen}"
    for refusal in summary.refusals:
        yield f"{shown_path(refusal.file)}:{refusal.line}: refused: {refusal.sentence}"
    yield from _numbers(summary)


def _blocks(summary: Summary, paint: Paint, width: int) -> Iterator[str]:
    for finding in summary.findings:
        yield "\n".join(finding_lines(finding, paint, width))
    for refusal in summary.refusals:
        yield "\n".join(_refusal_lines(refusal, paint, width))


def finding_lines(finding: Finding, paint: Paint, width: int = WIDTH) -> Iterator[str]:
    """What a finding says: place, what it is, both lines with both threads, cure, target, link."""
    place = paint("bold", f"{finding.shown_file}:{finding.line}")
    kind = paint(finding.severity, f"{finding.severity}: {finding.kind.replace('_', ' ')}")
    yield f"{place}: {kind} in `{finding.kernel}`"
    yield _indented(finding.what, width)
    yield from _quoted(finding)
    if finding.cure:
        yield _indented(f"Cure: {finding.cure}", width)
    if finding.undefined_on:
        yield _indented(f"Undefined on: {finding.undefined_on}", width)
    if finding.guide:
        yield f"  {finding.guide}"
    where = ", ".join(finding.elements)
    seen = f"Seen {plural(finding.count, 'time')} in {plural(finding.launches, 'launch')}"
    yield paint("dim", _indented(f"{seen}, first in {finding.launch}; {where}".rstrip("; "), width))


def _quoted(finding: Finding) -> Iterator[str]:
    """Who did it in which line; the later access below the earlier one."""
    rows = [(finding.other_line, finding.other_text, finding.threads[1:])]
    rows.append((finding.line, finding.text, finding.threads[:1]))
    for line, text, threads in rows:
        if line is not None:
            yield f"    line {line:<5} {text}    <- {threads[0]}" if threads else f"    {text}"


def _refusal_lines(refusal: Refusal, paint: Paint, width: int) -> Iterator[str]:
    place = paint("bold", f"{shown_path(refusal.file)}:{refusal.line}")
    of = f" of `{refusal.kernel}`" if refusal.kernel else ""
    yield f"{place}: {paint(ERROR, 'refused')}{of}"
    yield _indented(refusal.sentence, width)
    if refusal.text:
        yield f"    line {refusal.line:<5} {refusal.text}"


def _indented(text: str, width: int) -> str:
    return fill(text, width, initial_indent="  ", subsequent_indent="  ", break_long_words=False)


def _table(kernel: KernelRecord) -> str:
    """The counters of a kernel's watched launches, line by line."""
    counted = plural(kernel.watched, "watched launch")
    return profile_table.as_text(
        f"{kernel.name}: {counted}", rows_of(kernel), derive(kernel.total), []
    )


def rows_of(kernel: KernelRecord) -> list[tuple]:
    """(line, text, counters) of a kernel's own lines, then of the device functions' lines."""
    return [
        (line, text, derive(kernel.lines[file, line]) if (file, line) in kernel.lines else {})
        for file, line, text in lines_of(kernel)
    ]


def _numbers(summary: Summary) -> Iterator[str]:
    """How much was looked at, what was silenced, how the program ended, and notes."""
    yield f"{plural(len(summary.kernels), 'kernel')}, {summary.how_launched}."
    if summary.plain:
        yield (
            f"The first {summary.launches} launches of each kernel, grid, block and types of "
            "arguments are watched; plain ones find what stops a kernel, but no races."
        )
    if summary.silenced:
        named = sorted({one.silenced for one in summary.silenced})
        yield f"{plural(len(summary.silenced), 'finding')} silenced by {', '.join(named)}."
    yield from summary.notes
    ending = summary.ending
    if ending.error is not None and not ending.interrupted:
        yield f"{summary.program} raised {type(ending.error).__name__}; its traceback follows."
    elif ending.code and not ending.interrupted:
        yield f"{summary.program} ended with exit code {ending.code}."
