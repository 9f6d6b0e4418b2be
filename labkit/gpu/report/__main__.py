"""`python -m labkit.gpu.report`: what this machine's GPU says of the course, in eight minutes.

Needs NumPy, Numba, numba-cuda and PyTorch, and no network. Writes a folder with report.json and
report.md. The GPU's settings are left as they are. The exit code is 1 if a kernel is wrong, or if
a section or a row failed.

    --out FOLDER        where to write; default: work/gpu-report
    --only SECTION ...  these sections alone
    --dry-run           everything on the SIMT machine, with small sizes: no number is measured
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from labkit.gpu.report import folder, machine
from labkit.gpu.report.page import page
from labkit.gpu.report.picture import draw
from labkit.gpu.report.runner import SECTIONS, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the wanted sections; the report is written after each, should somebody interrupt it."""
    parser = argparse.ArgumentParser(
        prog="python -m labkit.gpu.report", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--out", type=Path, default=Path("work", "gpu-report"))
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--dry-run", action="store_true")
    asked = parser.parse_args(arguments)
    if absent := machine.missing():
        print(f"A report needs {', '.join(machine.NEEDED)}; missing here: {', '.join(absent)}.")
        return 2
    gpu = machine.gpu()
    if not gpu and not asked.dry_run:
        print("There is no NVIDIA GPU here (nvidia-smi names none): nothing is measured.")
        print("--dry-run runs everything on the SIMT machine.")
        return 2
    print(f"A report of {gpu.get('name', 'a dry run')}, into {asked.out}:", flush=True)
    start = time.monotonic()
    report = {
        "schema": folder.SCHEMA,
        "dry": asked.dry_run,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "gpu": gpu,
        "system": machine.system(),
        "versions": machine.versions(),
        "tools": machine.tools(),
        "seconds": 0.0,
        "sections": {},
    }
    words = folder.private_words()
    for name, section in run(asked.only, asked.dry_run):
        report["sections"][name] = folder.scrubbed(section, words)
        report["seconds"] = round(time.monotonic() - start, 1)
        folder.write(report, page(report), asked.out)
        print(summary(name, section), flush=True)
    folder.write(report, page(report, draw(report, asked.out)), asked.out)
    print(f"Written: {asked.out / 'report.md'} and report.json, {report['seconds']:.0f} s.")
    print("chapters/01_gpu/measured.md tells how to send them to the course.")
    return 0 if all(map(well, report["sections"].values())) else 1


def well(section: dict) -> bool:
    """Whether nothing in it went wrong; what could not be run and a missed goal are well."""
    states = {row["state"] for row in section["rows"]}
    wrong = any(row["says"].startswith("WRONG") for row in section["rows"])
    return section["state"] == "done" and not wrong and not states & {"failed", "no memory"}


def summary(name: str, section: dict) -> str:
    """A line for the terminal."""
    rows = section["rows"]
    done = sum(row["state"] == "done" for row in rows)
    off = [row["what"] for row in rows if row["ok"] is False or row["state"] == "failed"]
    more = f"; to look at: {', '.join(off)}" if off else ""
    why = f"; {section['why']}" if section["why"] else ""
    return f"{name}: {done} of {len(rows)} rows, {section['seconds']:.0f} s{more}{why}"


if __name__ == "__main__":
    sys.exit(main())
