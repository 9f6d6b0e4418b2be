"""Machines with your own prices, machines of your own, and the links that join several of a kind.

with_price(machine("h100"), 2.5)       # USD/h
own_machine("card.toml")               # a row such as this one:

    name = "Our card"
    kind = "gpu"                       # or cpu, tpu: a CPU stands alone
    peak.bf16 = 200e12                 # FLOP/s, dense; for each format that it computes in
    bandwidth = 1e12                   # B/s
    memory = 24e9                      # B
    power = 300                        # W, if known
    price = 1.5                        # USD/h, if known
"""

import tomllib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from labkit.distributed.chooser.workload import LinksUnknownError, above_zero
from labkit.distributed.costs.clusters import Cluster, clusters
from labkit.distributed.costs.cost_model import CostModel
from labkit.hardware import FORMATS, UNITS, Machine, machine, machines
from labkit.provenance import Quantity, published

KINDS = ("cpu", "gpu", "tpu")
WORDS = ("name", "kind", "peak")
FIGURES = ("bandwidth", "memory", "power", "price")
NEEDED = ("peak", "bandwidth", "memory")
NO_LINK = CostModel(latency=0.0, bandwidth=float("inf"))  # of a machine that is alone


def offered(
    names: Iterable[str] | None, prices: Iterable[str], own: Iterable[str]
) -> list[Machine] | None:
    """Those that are named, and those of one's own, at one's own prices, as "h100=2.5".

    Without names: all of the table. None where nothing was said. ValueError for a price of an
    unknown machine, or that is none.
    """
    made = {one.key: one for one in map(own_machine, own)}
    keys = list(machines()) if names is None else list(names)
    found = made | {key: made.get(key) or machine(key) for key in keys}
    for text in prices:
        key, _, usd = text.partition("=")
        if key not in found:
            found[key] = machine(key)  # or a sentence that names the near ones
            if names is not None:
                raise ValueError(f"--price {text}: {key} is not among the machines to choose from.")
        found[key] = with_price(found[key], _usd(text, usd))
    return list(found.values()) if names is not None or prices or made else None


def with_price(one: Machine, usd: float) -> Machine:
    """The same machine at another price: USD for an hour."""
    price = published(usd, "USD/h", "your own price (--price)")
    return replace(one, price=price, price_with_host=None)


def own_machine(path: str) -> Machine:
    """The machine of a TOML file; its key is the file's name. ValueError for what is none."""
    try:
        row = tomllib.loads(Path(path).read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no TOML: {error}.") from None
    _demand_row(path, row)
    key = Path(path).stem
    fields = {name: _figure(path, name, row[name], UNITS[name]) for name in FIGURES if name in row}
    if "price" in row:
        fields["price"] = replace(fields["price"], unit="USD/h")
    peak = {}
    for number_format, rate in row["peak"].items():
        if number_format not in FORMATS:
            there = ", ".join(FORMATS)
            raise ValueError(f"{path}: there is no format {number_format!r}. There are: {there}.")
        peak[number_format] = _figure(path, number_format, rate, FORMATS[number_format])
    return Machine(key, row.get("name", key), row.get("kind", "gpu"), None, peak, **fields)


def _demand_row(path: str, row: dict) -> None:
    """ValueError for a field that is missing, or that no machine has."""
    for name in NEEDED:
        if name not in row:
            raise ValueError(f"{path} has no {name}; a machine needs {', '.join(NEEDED)}.")
    for name in row:
        if name not in (*WORDS, *FIGURES):
            known = ", ".join((*WORDS, *FIGURES))
            raise ValueError(f"{path}: a machine has no {name!r}. It has: {known}.")
    if not isinstance(row["peak"], dict) or not row["peak"]:
        raise ValueError(f"{path}: peak has a rate for each format, as in peak.bf16 = 200e12.")
    if row.get("kind", "gpu") not in KINDS:
        raise ValueError(f"{path}: kind is one of {', '.join(KINDS)}, not {row['kind']!r}.")


def _figure(path: str, name: str, value: object, unit: str) -> Quantity:
    return published(float(above_zero(f"{path}: {name}", value)), unit, path)


def _usd(text: str, usd: str) -> float:
    try:
        return above_zero(f"--price {text}: the price", float(usd))
    except ValueError:
        raise ValueError(
            f"--price {text}: give a machine and USD for its hour above 0, as h100=2.5."
        ) from None


def cluster_of(machine: Machine, count: int = 1) -> Cluster:
    """The cluster made of this machine, by `clusters.toml`; one that is alone needs no link.

    Raises LinksUnknownError where the table has none and more than one machine is asked for.
    """
    for cluster in clusters().values():
        if cluster.machine.key == machine.key:
            return cluster
    if count > 1:
        raise LinksUnknownError("links not listed")  # a line of the answer is narrow
    return Cluster(machine.key, machine.name, machine, 1, NO_LINK, NO_LINK, efficiency=1.0)
