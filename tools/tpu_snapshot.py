"""Make labkit/tpu/snapshot.json anew: what the TPU compiler says of every program of the lessons.

    python tools/tpu_snapshot.py [--heavy]    compile all and write the file
    python tools/tpu_snapshot.py --check      compile the light ones and compare with the file

The programs are whatever lesson 3 of chapter 2 asks `compile_for_tpu`, found by running the cells
of its solution, and HEAVY below. A heavy one takes minutes; without --heavy its stored answer is
kept if it was made by the same versions, and compiled if not. Needs Linux x86-64 and libtpu.
"""

import argparse
import contextlib
import io
import json
import os
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

from labkit.course.lesson import load, split_solution
from labkit.tpu import compile_for_tpu, compiler, snapshot, workloads

ROOT = Path(__file__).resolve().parent.parent
LESSONS = [ROOT / "chapters/02_tpu/source/3_the_tpu_compiler.py"]
HEAVY = [  # model, batch, topology
    ("ResNet-20", 512, "v5e:1x1"),
    ("ResNet-50", 128, "v2:1x1"),
    ("ResNet-50", 256, "v5e:1x1"),
    ("ResNet-50", 256, "v6e:1x1"),
    ("ResNet-50", 1024, "v5e:1x1"),  # more than its memory
]
LIMIT = 1800  # seconds for one compile


class Recorder:
    """Stands where `snapshot.recall` was: compiles what a lesson wants to recall, and keeps it."""

    def __init__(self, kept: dict) -> None:
        self.kept, self.entries = kept, {}

    def __call__(self, program, topology: str) -> dict:
        key = snapshot.key(program, topology)
        if key not in self.entries:
            made = self.entries[key] = self.kept.get(key) or self.compiled(program, topology)
            if "error" in made:
                made["error"] = made["error"].partition("\n")[0]
        answer = {k: v for k, v in self.entries[key].items() if k not in {"title", "topology"}}
        return answer | {"by": versions(), "date": "this run"}

    def compiled(self, program, topology: str) -> dict:
        start = time.perf_counter()
        answer = compiler.ask(program, topology, LIMIT)
        answer = answer if "error" in answer else compiler.read(answer, program.names)
        answer = {k: v for k, v in answer.items() if k not in {"hlo", "by"}}
        seconds = time.perf_counter() - start
        print(f"{seconds:6.1f} s  {program.title} on {topology}", file=sys.stderr, flush=True)
        return {"title": program.title, "topology": topology} | answer


def versions() -> str:
    return f"libtpu {version('libtpu')} through jax {version('jax')}"


def run_lesson(path: Path) -> None:
    """Execute the solution's cells, all but the setup, in one namespace."""
    scope = {"__name__": "lesson"}
    for cell in load(path, path.name).cells:
        if cell.type == "code" and "setup" not in cell.tags:
            code = split_solution(cell.text, path.name, cell.line)[1]
            exec(compile(code, str(path), "exec"), scope)


def run_heavy() -> None:
    for name, batch, topology in HEAVY:
        step, shapes = workloads.train_step(name, batch)
        with contextlib.suppress(compiler.CompilerError):  # the answer is kept
            compile_for_tpu(step, shapes, topology, source="snapshot")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--heavy", action="store_true", help="compile the heavy ones again")
    options.add_argument("--check", action="store_true", help="write nothing; say what differs")
    options = options.parse_args()
    os.environ.update(LABKIT_PROGRESS="off", LABKIT_OFFLINE="1", MPLBACKEND="Agg")
    held = json.loads(snapshot.FILE.read_text()) if snapshot.FILE.exists() else {"by": ""}
    usable = held["by"] == versions() and not options.heavy
    heavy = tuple(f"{name} step" for name, *_ in HEAVY)
    entries = held.get("entries", {}) if usable else {}
    kept = {key: one for key, one in entries.items() if one["title"].startswith(heavy)}
    snapshot.recall = recorder = Recorder(kept)
    run_heavy()
    if not options.check:
        write(recorder.entries)  # they took long; a lesson may fail
    with contextlib.redirect_stdout(io.StringIO()):
        for lesson in filter(Path.exists, LESSONS):
            run_lesson(lesson)
    if options.check:
        return compare(json.loads(json.dumps(recorder.entries)), held)
    write(recorder.entries)
    print(f"{len(recorder.entries)} programs, {snapshot.FILE.stat().st_size / 1e3:,.0f} kB")
    return 0


def write(entries: dict) -> None:
    """The file, a line for each program."""
    made = {"by": versions(), "date": date.today().isoformat()}
    head = json.dumps(made | {"command": "python tools/tpu_snapshot.py"})[:-1]
    lines = [f'"{key}":{json.dumps(one, separators=(",", ":"))}' for key, one in entries.items()]
    text = f'{head}, "entries": {{\n' + ",\n".join(lines) + "\n}}\n"
    snapshot.FILE.write_text(text, encoding="utf-8")


def compare(made: dict, held: dict) -> int:
    """Say what differs; 1 if anything does."""
    stored = held.get("entries", {})
    differ = [key for key, one in made.items() if one != stored.get(key)]
    for key in differ:
        what = "differs" if key in stored else "is not stored"
        print(f"{made[key]['title']} on {made[key]['topology']} {what}")
    same = len(made) - len(differ)
    print(f"{same} programs agree, {len(differ)} do not ({versions()}; stored: {held['by']}).")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
