"""A loop that went on too long: does it wait for a value in memory, or does it never end?

It waits if what ends it (its condition, or an `if` around a `break`) is computed from something
that it reads from memory in each round.
"""

from labkit.gpu.simt.ops import ATOMICS, COLUMNS, FIRST, NONE, OPS, WRITES_A_REGISTER, column
from labkit.gpu.simt.values import Program

READS = {"LD", "LDV", *ATOMICS}
TARGET, TEST = column("JMP", "target"), column("IF", "test") - FIRST


def waits_for_memory(program: Program, jump: int) -> bool:
    """Whether the loop that ends with the jump at instruction `jump` is ended by memory."""
    code = program.code.tolist()
    loop = [(OPS[row[0]], row[FIRST : COLUMNS - 1]) for row in code[code[jump][TARGET] : jump + 1]]
    from_memory: set[int] = set()
    known = -1
    while known < len(from_memory):  # until nothing new is computed from memory
        known = len(from_memory)
        for op, (result, *operands) in loop:
            if op in READS or (op in WRITES_A_REGISTER and from_memory & {*operands[:3]} - {NONE}):
                from_memory.add(result)
    return any(
        operands[TEST] in from_memory
        for i, (op, operands) in enumerate(loop)
        if op in ("TEST", "JZ") or (op == "IF" and _breaks(loop[i + 1 :]))
    )


def _breaks(rest: list) -> bool:
    """Whether the `if` that began just before `rest` holds a `break` or a `return`."""
    depth = 1
    for op, _ in rest:
        depth += (op == "IF") - (op == "ENDIF")
        if op in ("BREAK", "RET") or not depth:
            return depth > 0
    return False
