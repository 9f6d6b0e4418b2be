"""The report as JSON; docs/races.md says what each key means."""

import json
from dataclasses import asdict

from numba_simt import __version__
from numba_simt.watching.session import KernelRecord
from numba_simt.watching.summary import Summary

VERSION = 1  # of what the keys mean


def as_json(summary: Summary) -> str:
    """All of it, as one object."""
    return json.dumps(as_object(summary), indent=1) + "\n"


def as_object(summary: Summary) -> dict:
    """The object that is written."""
    ending = summary.ending
    return {
        "schema": "numba-simt report",
        "version": VERSION,
        "numba_simt": __version__,
        "program": summary.program,
        "verdict": summary.verdict,
        "failed": summary.failed,
        "exit_code": summary.exit_code,
        "program_exit_code": ending.code,
        "program_traceback": ending.traceback,
        "launches": {
            "watched": summary.watched,
            "watched_in_part": summary.in_part,
            "plain": summary.plain,
        },
        "watched_of_each_shape": summary.launches,
        "findings": [asdict(one) for one in summary.findings],
        "silenced": [asdict(one) for one in summary.silenced],
        "refusals": [asdict(one) for one in summary.refusals],
        "kernels": [_kernel(one) for one in summary.kernels],
        "notes": summary.notes,
    }


def _kernel(one: KernelRecord) -> dict:
    return {
        "name": one.name,
        "file": one.file,
        "line": one.line,
        "watched": one.watched,
        "watched_in_part": one.in_part,
        "plain": one.plain,
        "shapes": one.shapes,
        "unwatched_arrays": sorted(one.unwatched),
        "counters": dict(one.total),
        "lines": [
            {"file": file, "line": line, "counters": dict(counts)}
            for (file, line), counts in sorted(one.lines.items())
        ],
    }
