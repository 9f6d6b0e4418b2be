"""Clusters by name: which machine, how many in a node, and what a message costs on each link.

    h100 = cluster("h100")
    h100.within, h100.between             # CostModel: latency and bandwidth of each link
    h100.ring(8), h100.ring(64)           # what each step of a ring of so many neighbours costs
    h100.ring(8, message=1024)            # where a step sends so few bytes
    h100.ring(8, stride=8)                # of 8 ranks that are 8 apart: one in each node
    Cluster.on_link(CostModel.fit(pings), "t4", efficiency=0.4)    # one machine behind each link

Ranks are counted node by node. All figures, with their sources, stand in `clusters.toml`. Lesson
a_cost_model.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from labkit.distributed.costs.cost_model import CostModel
from labkit.errors import row_of
from labkit.hardware import Machine, machine

SHORT_SHARE = 1 / 4  # of a link's bandwidth that NCCL's protocol for short messages reaches


@dataclass(frozen=True)
class Cluster:
    """Nodes of equal accelerators.

    per_node     accelerators in a node
    within       the link between two of a node: latency in s, bandwidth in B/s and direction
    between      the link of one accelerator to other nodes
    short        the same two links as used for short messages: less latency, less bandwidth; None
                 where there is one way for all messages
    efficiency   the share of the machine's peak that matrix products reach
    fitted       the published result that the efficiency was taken from; None: it is assumed
    sources      titles and addresses of all figures
    """

    key: str
    name: str
    machine: Machine
    per_node: int
    within: CostModel
    between: CostModel
    efficiency: float
    fitted: str | None = None
    sources: tuple[str, ...] = ()
    short: tuple[CostModel, CostModel] | None = None

    @classmethod
    def on_link(cls, link: CostModel, key: str, efficiency: float) -> Cluster:
        """Machines of the table that have one link each, such as one that was fitted to pings.

        Raises ValueError for an unknown machine, and for an efficiency outside of 0 to 1.
        """
        if not isinstance(efficiency, int | float) or not 0 < efficiency <= 1:
            raise ValueError(f"An efficiency is a share of the peak, 0 to 1, not {efficiency!r}.")
        return cls(
            key=f"{key}_on_a_link",
            name=f"{machine(key).name}, one behind each link",
            machine=machine(key),
            per_node=1,
            within=link,
            between=link,
            efficiency=efficiency,
        )

    def rate(self, number_format: str = "bf16") -> float:
        """FLOP/s that one accelerator reaches: peak x efficiency; ValueError for other formats."""
        peak = self.machine.peak
        if number_format == "bf16" and "bf16" not in peak:
            number_format = "fp16"  # before Ampere
        return float(self.machine.rate(number_format)) * self.efficiency

    def in_a_node(self, ranks: int, stride: int = 1) -> int:
        """How many of a group of ranks, each `stride` behind the other, share a node.

        Raises ValueError for less than one rank, and for a stride below 1.
        """
        if ranks < 1 or stride < 1:
            raise ValueError(f"A group has ranks and a stride from 1 on, not {ranks} and {stride}.")
        return min(ranks, max(self.per_node // stride, 1))

    def link(self, ranks: int, stride: int = 1) -> CostModel:
        """What one rank of such a group has to its neighbours: the slower link, where it leaves."""
        return self.within if self.in_a_node(ranks, stride) == ranks else self.between

    def ring(self, ranks: int, stride: int = 1, message: float = math.inf) -> CostModel:
        """What a step of a ring through such a group costs: the mean latency, and the bandwidth.

        message   bytes that a rank sends in each step; long ones and short ones go different ways,
                  and the faster one is taken

        Of the n - 1 steps that a piece makes round the ring, nodes - 1 leave a node, so the mean is
        ((n - nodes) latency within + (nodes - 1) latency between) / (n - 1). Where k ranks of the
        group share a node, k rings can run at a time, each over the network card of another: the
        bandwidth is k times that of one card, at most that within a node.
        """
        ways = [(self.within, self.between)]
        if self.short:
            ways.append(self.short)
        rings = [self._ring(ranks, stride, *way) for way in ways]
        return min(rings, key=lambda ring: ring.message(message))

    def _ring(self, ranks: int, stride: int, within: CostModel, between: CostModel) -> CostModel:
        here = self.in_a_node(ranks, stride)
        if here == ranks:
            return within
        nodes = math.ceil(ranks / here)
        latency = (ranks - nodes) * within.latency + (nodes - 1) * between.latency
        bandwidth = min(here * between.bandwidth, within.bandwidth)
        return CostModel(latency / (ranks - 1), bandwidth)


@cache
def clusters() -> Mapping[str, Cluster]:
    """All clusters of the table, by key."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    found = {}
    for key, row in table["clusters"].items():
        found[key] = _cluster(key, row, table["sources"])
    return MappingProxyType(found)


def cluster(key: str) -> Cluster:
    """The cluster with this key, as "h100"; ValueError names the near matches."""
    return row_of(clusters(), key, "cluster")


def _cluster(key: str, row: dict, sources: dict) -> Cluster:
    """One cluster from its row of the table."""
    used = []
    for part in ("within", "between", "efficiency"):
        for name in row[part]["sources"]:
            source = sources[name]
            used.append(f"{source['title']}, {source['url']}".removesuffix(", "))
    links = [row["within"], row["between"]]
    within, between = (CostModel(link["latency"], link["bandwidth"]) for link in links)
    short = None
    if all("short_latency" in link for link in links):
        short = tuple(
            CostModel(link["short_latency"], SHORT_SHARE * link["bandwidth"]) for link in links
        )
    return Cluster(
        key=key,
        name=row["name"],
        machine=machine(row["machine"]),
        per_node=row["per_node"],
        within=within,
        between=between,
        short=short,
        efficiency=row["efficiency"]["value"],
        fitted=row["efficiency"].get("fitted"),
        sources=tuple(dict.fromkeys(used)),
    )
