"""Why a module takes more of the FPGA than it should: what its cells and its text show."""

import re
from collections.abc import Mapping

from labkit.fpga.sources import without_comments
from labkit.fpga.synthesize import Synthesis

_DIVIDES = re.compile(r"[%/](?!=)\s*(?!(?:2|4|8|16|32|64)\b)\w")
_MEMORY = re.compile(r"\blogic\b[^;]*?\b(?P<name>\w+)\s*\[[^\]]+\]\s*[;,]")
_BEYOND = 25  # bits of a factor, of which a DSP takes one of 25 and one of 18
_AT_ONCE = r"\bassign\b[^;]*=[^;]*\b{}\s*\["
_READ_AT_ONCE = (
    "`{}` is read without a clock edge, in an `assign`. A block RAM shows a word only after an "
    "edge, so read it into a register, with `<=` in `always_ff`."
)
_NO_BLOCK_RAM = (
    "`{}` is in no block RAM, which is written and read at clock edges, a word in a cycle: a word "
    "that is read goes into a register, and no reset and no loop touches all of them."
)
_NO_MEMORY = (
    "`{}` has become flip-flops: in a memory, one word is written in a cycle, so that no reset and "
    "no loop may touch all of them."
)
_DIVIDER = (
    "a division, or a remainder, takes many LUTs unless it is by a power of two: compare, and "
    "begin again at 0."
)
_MULTIPLIERS = (
    "there are {} multipliers. A product in each branch of `?` or `if` is one of its own: choose "
    "first, and multiply once."
)
_WIDE = "a factor has {} bits, and a DSP takes 25 by 18: several of them share a wider product."


def cost_cause(synthesis: Synthesis, limits: Mapping[str, int], text: str) -> str | None:
    """The likely cause, as a sentence; None where the cells and the text show none.

    limits   what the exercise limits: its resources, by their names in `synthesis`
    text     the learner's module
    """
    bare = without_comments(text)
    cells = {name for name, count in synthesis.cells.items() if count}
    memory = _MEMORY.search(bare)
    if memory and limits.get("bram36"):
        if re.search(_AT_ONCE.format(memory["name"]), bare):
            return _READ_AT_ONCE.format(memory["name"])
        if not synthesis.bram36.value:
            return _NO_BLOCK_RAM.format(memory["name"])
    if memory and not any(name.startswith("RAM") for name in cells):
        return _NO_MEMORY.format(memory["name"])
    if _DIVIDES.search(bare):
        return _DIVIDER
    left = synthesis.multipliers.left
    if len(left) > limits.get("dsp", len(left)):
        return _MULTIPLIERS.format(len(left))
    widest = max((max(one.a_bits, one.b_bits) for one in left), default=0)
    if widest > _BEYOND and "dsp" in limits:
        return _WIDE.format(widest)
    return None
