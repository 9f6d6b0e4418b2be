"""The committed answers of the compiler, for machines on which it does not run.

`python tools/tpu_snapshot.py` makes snapshot.json anew; nothing in it is written by hand.
"""

import json
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from labkit.tpu.bundles import KernelBundles
from labkit.tpu.hlo import Array, Collective, Op

FILE = Path(__file__).with_name("snapshot.json")
INSTALL = "On Linux x86-64, `pip install jax libtpu` brings it"


@cache
def stored() -> dict:
    """{"by", "date", "command", "entries": {program and topology: what the compiler said, read}}"""
    return json.loads(FILE.read_text(encoding="utf-8"))


def recall(program: str, topology: str, title: str, bundles: bool = False) -> dict:
    """The stored answer for this very program; LookupError names the near ones.

    `program` is the fingerprint of one, or the name of one that is stored by its name. With
    `bundles`, an answer without its kernels' bundles is none.
    """
    entries = stored()["entries"]
    found = entries.get(f"{program} {topology}")
    if found is None or (bundles and not {"kernels", "error"} & found.keys()):
        raise LookupError(_not_stored(entries, title, topology))
    answer = found | {"source": f"snapshot: compiled by {stored()['by']} on {stored()['date']}"}
    answer.pop("fingerprint", None)  # of one that is stored by its name
    if "error" not in found:
        answer["ops"] = [Op(*row) for row in found["ops"]]
        answer["padding"] = [Array(name, tuple(n), *rest) for name, n, *rest in found["padding"]]
        answer["collectives"] = [Collective(*row) for row in found["collectives"]]
        answer["kernels"] = [KernelBundles(*row) for row in found.get("kernels", [])]
    return answer


def _not_stored(entries: dict, title: str, topology: str) -> str:
    """What is near a program that the snapshot does not hold, and who else can answer."""
    asked = f"{title} on {topology}"
    known = {f"{one['title']} on {one['topology']}" for one in entries.values()}
    near = get_close_matches(asked, sorted(known), 3, 0.4)
    said = "; near it: ".join([asked, *near])
    way_out = "compile_for_tpu(...) without `source` asks the compiler"
    return f"The snapshot has the lessons' programs, not {said}. {way_out}. {INSTALL}."


def agreement(live: Any, stored: Any) -> str:
    """Whether two Compiled of one program say the same, in a sentence with every difference."""
    names = ("estimated_cycles", "flops", "bytes_accessed", "memory", "padding", "collectives")
    differ = [name for name in names if getattr(live, name) != getattr(stored, name)]
    if not differ:
        return f"{live.title}: live and snapshot agree in {', '.join(names)}."
    cycles = f"{live.estimated_cycles} cycles against {stored.estimated_cycles}"
    said = f"{live.title}: live differs from the snapshot in {', '.join(differ)}; {cycles}"
    return f"{said}. Live is {live.source}; the other is {stored.source}."
