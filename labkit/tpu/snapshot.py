"""The committed answers of the compiler, for machines on which it does not run.

`python tools/tpu_snapshot.py` makes snapshot.json anew; nothing in it is written by hand.
"""

import json
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from labkit.tpu.programs import Program

FILE = Path(__file__).with_name("snapshot.json")
INSTALL = "On Linux x86-64, `pip install jax libtpu` brings it; elsewhere use source='snapshot'."


@cache
def stored() -> dict:
    """{"by", "date", "command", "entries": {key: what the compiler said, read}}"""
    return json.loads(FILE.read_text(encoding="utf-8"))


def key(program: Program, topology: str) -> str:
    return f"{program.fingerprint} {topology}"


def recall(program: Program, topology: str) -> dict:
    """The stored answer for this very program; LookupError names the near ones."""
    held = stored()
    if found := held["entries"].get(key(program, topology)):
        answer = {name: value for name, value in found.items() if name not in {"title", "topology"}}
        return answer | {"by": held["by"], "date": held["date"]}
    wanted = f"{program.title} on {topology}"
    known = {f"{one['title']} on {one['topology']}" for one in held["entries"].values()}
    near = [f"; near it: {one}" for one in get_close_matches(wanted, sorted(known), 3, 0.4)]
    raise LookupError(
        f"The snapshot has the lessons' programs, not {wanted}{''.join(near)}. To ask the compiler "
        f"itself: {INSTALL}"
    )


def agreement(live: Any, stored: Any) -> str:
    """Whether two Compiled of one program say the same, in a sentence with every difference."""
    names = ("estimated_cycles", "flops", "bytes_accessed", "memory", "padding", "collectives")
    differ = [name for name in names if getattr(live, name) != getattr(stored, name)]
    if not differ:
        return f"{live.title}: live and snapshot agree in {', '.join(names)}."
    ours, theirs = live.estimated_cycles or 0, stored.estimated_cycles or 0
    change = f"{100 * (ours / theirs - 1):+.1f} %" if theirs else "from none"
    return (
        f"{live.title}: live differs from the snapshot in {', '.join(differ)}; {ours:,} cycles "
        f"against {theirs:,} ({change}). Live is {live.source}; the other is {stored.source}."
    )
