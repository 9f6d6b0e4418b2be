"""The trials on shaped links that were written down: `shaped_links.toml`, as
tools/cluster/shaped_links.py left it.

    for link in shaped_links():
        link.kind, link.ranks, link.model, link.trials

No network namespace is needed to read them. Lesson a_cost_model.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from labkit.distributed.costs.cost_model import CostModel
from labkit.distributed.links.link_predictions import Compared

PAGE = "chapters/04_distributed/shaped_links.md"


@dataclass(frozen=True)
class WrittenLink:
    """One link.

    kind     "shaped and relayed", "shaped", "emulated in process" or "loopback"
    model    latency and bandwidth, from pings on this link
    trials   what was predicted and measured
    where    the machine and the day, for a quantity's source
    """

    kind: str
    ranks: int
    model: CostModel
    trials: tuple[Compared, ...]
    where: str


@cache
def shaped_links() -> tuple[WrittenLink, ...]:
    """All links of the file, in its order."""
    table = tomllib.loads(Path(__file__).with_name("shaped_links.toml").read_text("utf-8"))
    found = []
    for row in table["links"]:
        trials = [Compared(t["name"], t["predicted"], t["measured"]) for t in row["trials"]]
        where = f"{table['machine']}, {table['date']} ({PAGE})"
        model = CostModel(row["latency"], row["bandwidth"])
        found.append(WrittenLink(row["kind"], row["ranks"], model, tuple(trials), where))
    return tuple(found)
