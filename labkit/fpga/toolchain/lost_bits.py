"""Which assignments to fewer bits lose one? Verilator warns of all, also where a constant fits.

A parameter is a number of 32 bits to Verilator, and so is all that it is added to: it warns of
`count <= LENGTH - 1` and of `count == 0 ? LENGTH - 1 : count - 1`, whatever LENGTH is.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labkit.fpga.sources import Sources
from labkit.fpga.toolchain.verilated import run_verilator

Node = dict[str, Any]
Place = tuple[str, int, int]  # file, line, column

ASSIGNMENTS = ("ASSIGN", "ASSIGNW", "ASSIGNDLY")
_CONSTANT = re.compile(r"\??(?P<bits>\d+)\??'?(?P<signed>s?)h(?P<digits>[0-9a-f]+)")
_NUMBERS = {
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "MUL": lambda a, b: a * b,
    "MULS": lambda a, b: a * b,
}


def harmless(sources: Sources, parameters: dict[str, int], folder: Path) -> set[Place]:
    """The assignments that cut bits off, none of which can be 1; the sources lie in `folder`.

    An assignment is there once for each size of its module, and has to be harmless in all of them.
    """
    options = [
        "--lint-only",
        "--dump-tree-json",
        "-Wno-fatal",
        "--no-timing",
        "--Mdir",
        "tree",
    ]
    run_verilator(options, sources, parameters, folder)
    trees = sorted((folder / "tree").glob("*_width.tree.json"))
    if not trees:  # it has stopped before, at what it does not know
        return set()
    meta = json.loads(next((folder / "tree").glob("*.meta.json")).read_text("utf-8"))
    design = Design(json.loads(trees[-1].read_text("utf-8")))
    judged: dict[Place, bool] = {}
    for node in nodes(design.tree):
        if node["type"] in ASSIGNMENTS:
            place = place_of(node, meta["files"])
            judged[place] = judged.get(place, True) and design.keeps_all(node)
    return {place for place, kept in judged.items() if kept}


def nodes(node: Node) -> Iterator[Node]:
    """A node and all below it."""
    yield node
    for value in node.values():
        if isinstance(value, list):
            for below in value:
                yield from nodes(below)


def place_of(node: Node, files: dict[str, dict[str, str]]) -> Place:
    """Where it begins."""
    file, begin, _ = node["loc"].split(",")
    line, column = begin.split(":")
    return files[file]["filename"], int(line), int(column)


class Design:
    """Verilator's tree of a design, once each operand has the width of its context."""

    def __init__(self, tree: Node) -> None:
        self.tree = tree
        self.by_address = {node["addr"]: node for node in nodes(tree) if "addr" in node}

    def keeps_all(self, assignment: Node) -> bool:
        """Whether all that is on the right has room on the left."""
        value = assignment["rhsp"][0]
        bits = self.width(value)
        if value["type"] == "SEL":  # Verilator's own, which cuts
            value = value["fromp"][0]
        return bits is not None and self.fits(value, bits)

    def fits(self, node: Node, bits: int) -> bool:
        """Whether a value has room in so many bits; a step past an end, as in `count + 1`, has."""
        number = self.number(node)
        if number is not None:
            return -(1 << bits - 1) <= number < 1 << bits
        kind = node["type"]
        if kind in ("EXTEND", "EXTENDS"):
            return self.fits(node["lhsp"][0], bits)
        if kind == "COND":
            return all(self.fits(node[part][0], bits) for part in ("thenp", "elsep"))
        if kind == "MODDIV" and (divisor := self.number(node["rhsp"][0])) is not None:
            return 0 < divisor <= 1 << bits
        if kind in ("ADD", "SUB"):
            sides = node["lhsp"][0], node["rhsp"][0]
            steps = any(self.number(side) is not None for side in sides)
            return steps and all(self.fits(side, bits) for side in sides)
        width = self.width(node)
        return width is not None and width <= bits

    def number(self, node: Node) -> int | None:
        """What a constant expression is; None for any other."""
        kind = node["type"]
        if kind == "CONST" and (found := _CONSTANT.fullmatch(node["name"])):
            number = int(found["digits"], 16)
            negative = found["signed"] and number >> int(found["bits"]) - 1
            return number - (1 << int(found["bits"])) if negative else number
        if kind == "VARREF":
            variable = self.by_address[node["varp"]]
            constant = variable.get("isGParam") or variable.get("isParam")
            return self.number(variable["valuep"][0]) if constant else None
        if kind in ("EXTEND", "EXTENDS"):
            return self.number(node["lhsp"][0])
        if kind in _NUMBERS:
            left, right = self.number(node["lhsp"][0]), self.number(node["rhsp"][0])
            return None if left is None or right is None else _NUMBERS[kind](left, right)
        return None

    def width(self, node: Node) -> int | None:
        """How many bits it has; None for what is no plain vector."""
        kind = self.by_address.get(node.get("dtypep"), {})
        if kind.get("type") != "BASICDTYPE" or kind.get("keyword") not in ("logic", "bit", "int"):
            return None
        first, last = map(int, kind.get("range", "0:0").split(":"))
        return abs(first - last) + 1
