"""Make labkit/tpu/snapshot.json anew: what the TPU compiler says of every program of the lessons.

    python tools/tpu_snapshot.py [--heavy]    compile all and write the file
    python tools/tpu_snapshot.py --check      compile the light ones and compare with the file

The programs are whatever the LESSONS ask `compile_for_tpu`, found by running the cells of their
solutions, and HEAVY below. These take minutes: a lesson recalls them by their name, and of their
thousand operations only the sums are kept. Without --heavy a stored answer of the same
program by the same versions is kept. Of the programs of a lesson in SUMMED, too, only sums are
kept. Needs Linux x86-64 and libtpu.
"""

import argparse
import contextlib
import io
import json
import os
import re
import sys
import time
from datetime import date
from pathlib import Path

import tpu_resnet

from labkit.course.catalogue import sources
from labkit.course.config import config
from labkit.course.source.lesson import load
from labkit.course.source.stubs import split_solution
from labkit.tpu import compiler, snapshot
from labkit.tpu.compile_worker import versions
from labkit.tpu.hlo import Op
from labkit.tpu.tracing import trace

ROOT = Path(__file__).resolve().parent.parent
NAMES = (
    "bfloat16",
    "what_the_compiler_makes_of_a_layer",
    "what_a_training_step_costs",
    "a_kernel_of_your_own",
    "what_fits_in_vmem",
    "what_sharding_sends",
    "what_costs_an_afternoon",
    "what_fills_the_memory",
)
LESSONS = [path for path in sources(config(ROOT), "02_tpu") if path.parent.name in NAMES]
SUMMED = {"what_costs_an_afternoon", "what_fills_the_memory"}  # no operations, no arrays
HEAVY = [(128, "v2:1x1"), (256, "v5e:1x1"), (256, "v6e:1x1")]  # images and topology
HEAVY.append((1024, "v5e:1x1"))  # more than its memory
LIMIT = 1800  # seconds for one compile


def asked(program, topology: str, bundles: bool = False) -> dict:
    """The compiler's answer, without what is not stored: its text, and all but one line of its
    error."""
    start = time.perf_counter()
    answer = compiler.ask(program, topology, LIMIT, bundles)
    seconds = time.perf_counter() - start
    print(f"{seconds:6.1f} s  {program.title} on {topology}", file=sys.stderr, flush=True)
    if "error" in answer:
        said = answer["error"].partition("\n")[0]
        answer["error"] = re.sub(r' source_(file="[^"]*"|line=\d+)', "", said)
    answer = {"title": program.title, "topology": topology} | answer
    return {name: value for name, value in answer.items() if name not in {"hlo", "source"}}


def summed(answer: dict) -> dict:
    """The answer for a heavy program: its operations summed by their kind, and no arrays."""
    if "error" in answer:
        return answer
    sums: dict[tuple, list[int]] = {}
    for op in answer["ops"]:
        sums.setdefault((op.kind, op.cycles is None), []).append(op.cycles or 0)
    ops = [
        Op(f"{len(cycles)} of {kind}", kind, None if unknown else sum(cycles), "", len(cycles))
        for (kind, unknown), cycles in sums.items()
    ]
    return answer | {"ops": ops, "padding": []}


def heavy(stored: dict) -> dict:
    """The heavy programs' answers under their names; those that are `stored` as they are."""
    made = {}
    for batch, topology in HEAVY:
        name = f"ResNet-50 step of {batch} images"
        key = f"{name} {topology}"
        program = trace(*tpu_resnet.train_step(batch))
        answer = stored.get(key, {})
        if answer.get("fingerprint") != program.fingerprint:
            answer = summed(asked(program, topology)) | {"fingerprint": program.fingerprint}
        made[key] = answer | {"title": name}
    return made


def light() -> dict:
    """The answers to what the lessons' solutions ask, under the programs' fingerprints."""
    made = {}
    asking = ""

    def record(f, shapes, topology="v5e:1x1", *, source="auto", bundles=False, **cut):
        program = trace(f, shapes, **cut)
        key = f"{program.fingerprint} {topology}"
        if key not in made or (bundles and not {"kernels", "error"} & made[key].keys()):
            answer = asked(program, topology, bundles)
            made[key] = summed(answer) if asking in SUMMED else answer
        return compiler.report(made[key] | {"source": "this run"})

    compiler.compile_for_tpu = record  # before the lessons import it
    for lesson in LESSONS:
        asking = lesson.parent.name
        run(lesson)
    return made


def run(lesson: Path) -> None:
    """Run the cells of a lesson's solution, one after the other."""
    scope = {"__name__": "lesson"}
    for cell in load(lesson, lesson.name).cells:
        if cell.type == "code" and "setup" not in cell.tags:
            code = split_solution(cell.text, lesson.name, cell.line)[1]
            exec(compile(code, str(lesson), "exec"), scope)


def write(entries: dict) -> None:
    """The file, a line for each program."""
    made = {"by": versions(), "date": date.today().isoformat()}
    head = json.dumps(made | {"command": "python tools/tpu_snapshot.py"})[:-1]
    lines = [f'"{key}":{json.dumps(one, separators=(",", ":"))}' for key, one in entries.items()]
    text = f'{head}, "entries": {{\n' + ",\n".join(lines) + "\n}}\n"
    snapshot.FILE.write_text(text, encoding="utf-8")
    snapshot.stored.cache_clear()


def compare(made: dict, held: dict) -> int:
    """Say what differs; 1 if anything does."""
    stored = held["entries"]
    differ = [key for key, one in made.items() if one != stored.get(key)]
    for key in differ:
        what = "differs" if key in stored else "is not stored"
        print(f"{made[key]['title']} on {made[key]['topology']} {what}")
    same = len(made) - len(differ)
    print(f"{same} programs agree, {len(differ)} do not ({versions()}; stored: {held['by']}).")
    return bool(differ)


def main() -> int:
    """The command line; returns the exit status."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--heavy", action="store_true", help="compile the heavy ones again")
    options.add_argument("--check", action="store_true", help="write nothing; say what differs")
    options = options.parse_args()
    os.environ.update(LABKIT_PROGRESS="off", LABKIT_OFFLINE="1", MPLBACKEND="Agg")
    held = json.loads(snapshot.FILE.read_text()) if snapshot.FILE.exists() else {"by": ""}
    if not options.check:
        usable = held["by"] == versions() and not options.heavy
        entries = heavy(held["entries"] if usable else {})
        write(entries)  # the lesson reads them
    with contextlib.redirect_stdout(io.StringIO()):
        made = light()
    if options.check:
        return compare(json.loads(json.dumps(made)), held)
    write(entries | made)
    size = snapshot.FILE.stat().st_size
    print(f"{len(entries | made)} programs, {size / 1e3:,.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
