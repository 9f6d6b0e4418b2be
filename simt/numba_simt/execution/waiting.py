"""A loop that went on too long: does it wait for a value in memory, or does it never end?

It waits if what ends it (its condition, or an `if` around a `break`) is computed from something
that it reads from memory in each round.
"""

from numba_simt.ops import ATOMICS, COLUMNS, FIRST, NONE, OPS, WRITES_A_REGISTER, column
from numba_simt.program import Program

READS = {"LD", "LDV", *ATOMICS}
TARGET = column("JMP", "target")
TEST = column("IF", "test") - FIRST
_Step = tuple[str, list[int]]  # an instruction's name and operands


def waits_for_memory(program: Program, jump: int) -> bool:
    """Whether the loop that ends with the jump at instruction `jump` is ended by memory."""
    code = program.code.tolist()
    start = code[jump][TARGET]
    loop = [(OPS[row[0]], row[FIRST : COLUMNS - 1]) for row in code[start : jump + 1]]
    from_memory = _computed_from_memory(loop)
    for i, (op, operands) in enumerate(loop):
        ends = op in ("TEST", "JZ") or (op == "IF" and _breaks(loop[i + 1 :]))
        if ends and operands[TEST] in from_memory:
            return True
    return False


def _computed_from_memory(loop: list[_Step]) -> set[int]:
    """The registers whose values come from memory, directly or by a computation."""
    found: set[int] = set()
    known = -1
    while known < len(found):  # until nothing new is found
        known = len(found)
        for op, (result, *operands) in loop:
            given = set(operands[:3]) - {NONE}
            if op in READS or (op in WRITES_A_REGISTER and found & given):
                found.add(result)
    return found


def _breaks(rest: list[_Step]) -> bool:
    """Whether the `if` that began just before `rest` holds a `break` or a `return`."""
    depth = 1
    for op, _ in rest:
        if op == "IF":
            depth += 1
        elif op == "ENDIF":
            depth -= 1
        if op in ("BREAK", "RET") or not depth:
            return depth > 0
    return False
