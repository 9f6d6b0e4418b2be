"""PTX, the assembly of GPUs: its instructions with their source lines, and costs seen in them.

Instructions are counted as they stand there, not as often as they run. Source of names and forms:
NVIDIA, "PTX ISA". (Lesson profiling reads a kernel's PTX.)
"""

import re
from collections import Counter, defaultdict
from typing import NamedTuple

Place = tuple[str, int]  # file and line of the source; ("", 0) if unknown


class Instruction(NamedTuple):
    """One instruction of PTX."""

    place: Place
    block: int  # number of its basic block, which labels and branches end
    name: str  # "ld.global.f32"
    operands: list[str]


def instructions(ptx: str) -> list[Instruction]:
    """All instructions of the text, in their order."""
    files = dict(re.findall(r'\.file\s+(\d+) "(.*?)"', ptx))
    place = ("", 0)
    block = 0
    found = []
    for line in ptx.splitlines():
        text = line.strip()
        if text.startswith(".loc"):
            _, file, number = text.split()[:3]
            place = (files.get(file, ""), int(number))
        elif match := re.match(r"(?:@\S+\s+)?([a-z][\w.:]*)\s*(.*);$", text):
            operands = re.findall(r"\{.*?\}|\[.*?\]|[^,\s]+", match[2])
            found.append(Instruction(place, block, match[1], operands))
        if text.startswith("$") or "bra" in text:
            block += 1
    return found


def accesses(code: list[Instruction]) -> Counter[str]:
    """Loads and stores of memory by kind, such as "ld.shared.v4": how many."""
    found = Counter()
    for instruction in code:
        pattern = r"(ld|st)\b.*?\.(global|shared|local)\b(.*?(\.v\d))?"
        if match := re.match(pattern, instruction.name):
            way, space, _, width = match.groups()
            found[f"{way}.{space}{width or ''}"] += 1
    return found


def doubles(code: list[Instruction]) -> list[Place]:
    """Where float64 is computed: a GPU for AI has few units for it."""
    return [i.place for i in code if re.match(r"(?!ld|st|mov).*\.f64", i.name)]


def wrapped_indices(code: list[Instruction]) -> list[Place]:
    """Where an int64 index is wrapped round, in case that it is negative: its sign is taken."""
    return [i.place for i in code if i.name == "shr.s64" and i.operands[2] == "63"]


def local_accesses(code: list[Instruction]) -> list[Place]:
    """Where local memory is read, written or addressed."""
    return [i.place for i in code if ".local" in i.name]


def shared_bytes(ptx: str) -> int:
    """The static shared memory of a block: its arrays one after the other, each aligned."""
    end = 0
    for align, size in re.findall(r"\.shared \.align (\d+) \.b8 \w+\[(\d+)\]", ptx):
        start = -(-end // int(align)) * int(align)
        end = start + int(size)
    return end


def fours(code: list[Instruction], space: str) -> list[Place]:
    """Where a lane loads four neighbours of 4 bytes one by one, and the next lane none of them.

    `space` is "global" or "shared". Four loads count if they stand in one basic block, with one
    base, whose address moves by a multiple of 16 bytes from a lane to the next.
    """
    found = []
    for places in _loads_by_base(code, space).values():
        for start in sorted(places):
            offsets = [start, start + 4, start + 8, start + 12]
            if all(offset in places for offset in offsets):
                found.append(places[start])
                for offset in offsets:
                    del places[offset]
    return found


def _loads_by_base(code: list[Instruction], space: str) -> dict[tuple, dict[int, Place]]:
    """Loads of 4 bytes that could be a part of 16: (block, base register) -> offset -> place."""
    groups = defaultdict(dict)
    lane_step = dict.fromkeys(["%tid.x", "%tid.y", "%tid.z", "%laneid"], 1)
    for instruction in code:
        if step := _lane_step(instruction, lane_step):
            lane_step[instruction.operands[0]] = step
        if re.fullmatch(rf"ld\.{space}(\.nc)?\.[fbus]32", instruction.name):
            base, _, offset = instruction.operands[1].strip("[]").partition("+")
            if lane_step.get(base, 0) % 16 == 0:
                groups[instruction.block, base][int(offset or 0)] = instruction.place
    return groups


def _lane_step(instruction: Instruction, lane_step: dict[str, int]) -> int:
    """By how much the result grows from a lane to the next.

    `lane_step` holds that of the registers so far. 0 also stands for what cannot be known here,
    as where it depends on an array's shape.
    """
    operation, *_ = instruction.name.split(".")
    sources = instruction.operands[1:4]
    a, b, c = [lane_step.get(source, 0) for source in sources] + [0] * (3 - len(sources))
    constant = 0
    if len(sources) > 1 and re.fullmatch(r"\d+", sources[1]):
        constant = int(sources[1])
    if operation in ("add", "or"):
        return a + b
    if operation == "sub":
        return a - b
    if operation in ("mov", "cvt", "cvta"):
        return a
    if operation == "shl":
        return a << constant % 64
    if operation == "mul":
        return a * constant
    if operation == "mad":
        return a * constant + c
    return 0
