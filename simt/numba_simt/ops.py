"""The instruction set of the SIMT machine: one row for each instruction, read by both sides.

A row names the instruction's operands in their order, and the register types it is defined for. The
front end (emitter.py) refuses every other type; tables.py turns the rows into C enumerations and
tables, so that neither an operand's position nor a function's types are written down twice.

In the program an instruction is eleven int32: operation, type, eight operands, and its source line.
"""

from typing import NamedTuple

FIRST = 2  # column of the first operand
OPERANDS = 8
COLUMNS = FIRST + OPERANDS + 1  # the last one is an index into Program.lines
NONE = 2**30  # an operand that is not there
MAX_DIMENSIONS = 6

# How a value lies in a register. Narrower integers and bool are kept in I64; F16 is kept as a
# float32 that is rounded to half precision after every operation.
TYPES = ("I64", "U64", "F16", "F32", "F64", "C64", "C128")
RT = {name: number for number, name in enumerate(TYPES)}

# How an element lies in memory, with its size in bytes.
MEMORY = {"b1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8}
MEMORY |= {"f16": 2, "f32": 4, "f64": 8, "c64": 8, "c128": 16}
MT = {name: number for number, name in enumerate(MEMORY)}

ANY = frozenset(TYPES)
INTEGER = frozenset({"I64", "U64"})
FLOAT = frozenset({"F16", "F32", "F64"})
SINGLE_DOUBLE = frozenset({"F32", "F64"})
COMPLEX = frozenset({"C64", "C128"})
INT64 = frozenset({"I64"})
ATOMIC_ANY = INTEGER | SINGLE_DOUBLE


class Instruction(NamedTuple):
    """A row: the operands in their order, and the types of what it computes with."""

    operands: tuple[str, ...]  # `result` is written; `index`: one index for each dimension
    types: frozenset[str]  # names of register types; of CVT: of what it converts


def _alike(names: str, operands: str, types: frozenset[str]) -> dict[str, Instruction]:
    """A row for each of the names; names and operands are words."""
    return dict.fromkeys(names.split(), Instruction(tuple(operands.split()), types))


_MEMORY_OPERANDS = "result array value comparand index"
INSTRUCTIONS = {
    **_alike("ADD SUB MUL POW EQ NE", "result a b", ANY),
    **_alike("DIV", "result a b", FLOAT | COMPLEX),
    **_alike("FLOORDIV MOD MIN MAX LT LE", "result a b", INTEGER | FLOAT),
    **_alike("AND OR XOR SHL SHR", "result a b", INTEGER),
    **_alike("NEG ABS MOV COPY", "result a", ANY),
    **_alike("NOT", "result a", INTEGER),
    **_alike("FMA", "result a b c", FLOAT),
    **_alike("MATH CLASSIFY", "result a function", FLOAT | COMPLEX),
    **_alike("MATH2", "result a b function", FLOAT),
    **_alike("POWI LDEXP", "result a n", SINGLE_DOUBLE),
    **_alike("SELECT", "result test a b", ANY),
    **_alike("CVT", "result a to", ANY),
    **_alike("TRUNCATE", "result a to", FLOAT),
    **_alike("NARROW", "result a to", INTEGER),
    **_alike("POPC CLZ BREV FFS", "result a width", INTEGER),
    **_alike("REAL IMAG", "result a", COMPLEX),
    **_alike("COMPLEX", "result a b", COMPLEX),
    **_alike("DIVISOR", "none a", INTEGER | FLOAT),
    **_alike("CHECK", "result a length axis array", INT64),
    **_alike("LD", "result array index", ANY),
    **_alike("ST", "array value index", ANY),
    **_alike("LDV", "result array index", frozenset({"I64", "F32"})),
    **_alike("STV", "array value index", frozenset({"I64", "F32"})),
    **_alike("ATOMIC_ADD ATOMIC_SUB ATOMIC_MAX ATOMIC_MIN", _MEMORY_OPERANDS, ATOMIC_ANY),
    **_alike("ATOMIC_NANMAX ATOMIC_NANMIN", _MEMORY_OPERANDS, ATOMIC_ANY),
    **_alike("ATOMIC_AND ATOMIC_OR ATOMIC_XOR ATOMIC_EXCH", _MEMORY_OPERANDS, INTEGER),
    **_alike("ATOMIC_INC ATOMIC_DEC ATOMIC_CAS", _MEMORY_OPERANDS, INTEGER),
    **_alike("SHFL_IDX SHFL_UP SHFL_DOWN SHFL_XOR", "result mask a lane", ATOMIC_ANY),
    **_alike("VOTE_ALL VOTE_ANY VOTE_EQ VOTE_BALLOT", "result mask predicate", INT64),
    **_alike("MATCH_ANY MATCH_ALL", "result mask a same", ATOMIC_ANY),
    **_alike("ACTIVEMASK LANEMASK_LT", "result", INT64),
    **_alike("SYNCWARP", "none mask", INT64),
    **_alike("PRINT", "first count print", INT64),
    **_alike("MMA", "result a b c", frozenset({"F16"})),
    **_alike("BARRIER", "", INT64),
    **_alike("BARRIER_COUNT BARRIER_AND BARRIER_OR", "result predicate", INT64),
    **_alike("FENCE FENCE_BLOCK GRIDSYNC", "", INT64),
    **_alike("IF TEST JZ", "test target", INT64),
    **_alike("ELSE ENDIF JOIN CONTINUE LOOPELSE ENDLOOP RET JMP", "none target", INT64),
    **_alike("BREAK", "frames target", INT64),
    **_alike("RAISE", "none target error stops", INT64),
    **_alike("LOOP EXIT", "", INT64),
    **_alike("NEXT", "counter target step limit", INT64),
}
OPS = tuple(INSTRUCTIONS)
OP = {name: number for number, name in enumerate(OPS)}
ATOMICS = [name for name in OPS if name.startswith("ATOMIC_")]
WRITES_A_REGISTER = {name for name, row in INSTRUCTIONS.items() if "result" in row.operands}


def column(op: str, operand: str) -> int:
    """Where that operand stands in a row of the program; ValueError if there is no such operand."""
    return FIRST + INSTRUCTIONS[op].operands.index(operand)


def _functions(names: str, types: frozenset[str]) -> dict[str, frozenset[str]]:
    """The types of each of the functions; names are words."""
    return dict.fromkeys(names.split(), types)


# Functions of C's math library, and their types: `sqrt` for float64, `sqrtf` for float32 and, with
# one rounding more, float16, `csqrt` for complex128. `own_...` are those of c/functions.h.
MATH = {
    **_functions("sqrt exp log sin cos tanh", FLOAT | COMPLEX),
    **_functions("tan asin acos atan sinh cosh asinh acosh atanh", SINGLE_DOUBLE | COMPLEX),
    **_functions("exp2 own_exp10 log2 log10 own_rsqrt", FLOAT),
    **_functions("floor ceil trunc rint fabs", FLOAT),
    **_functions("expm1 log1p erf erfc tgamma lgamma cbrt round", SINGLE_DOUBLE),
    **_functions("own_rcbrt own_sinpi own_cospi", SINGLE_DOUBLE),
    **_functions("own_mantissa own_exponent own_fraction", SINGLE_DOUBLE),
}
MATH2 = {
    **_functions("atan2 hypot copysign fmod remainder fmin fmax fdim nextafter", SINGLE_DOUBLE),
    **_functions("pow own_fast_pow", SINGLE_DOUBLE),
    **_functions("own_maximum own_minimum own_fmax own_fmin", FLOAT),
}
CLASSIFY = {
    **_functions("isnan isinf isfinite", FLOAT | COMPLEX),
    **_functions("signbit", FLOAT),
}
FUNCTIONS = {"MATH": MATH, "MATH2": MATH2, "CLASSIFY": CLASSIFY}  # what `function` may be

# What is counted for each source line; profiling/counters.toml says what each one means.
COUNTERS = (
    *("instructions", "lanes", "branches", "divergent_branches"),
    *("barriers", "atomics", "atomic_lanes"),
    *("global_load_requests", "global_load_sectors", "global_load_bytes"),
    *("global_store_requests", "global_store_sectors", "global_store_bytes"),
    *("shared_load_requests", "shared_load_transactions"),
    *("shared_load_conflicts", "shared_load_bytes"),
    *("shared_store_requests", "shared_store_transactions"),
    *("shared_store_conflicts", "shared_store_bytes"),
    *("local_loads", "local_stores"),
    *("flops_fp16", "flops_fp32", "flops_fp64", "float64", "special"),
)
HAZARDS = (
    *("race", "out_of_bounds", "misaligned", "divergent_barrier", "barrier_after_return"),
    *("uninitialised", "deadlock", "endless_loop", "inactive_lane", "division_by_zero"),
    *("same_value", "wrapping_index", "waits_for_lane", "too_large", "internal", "exception"),
)
SPACES = ("global", "constant", "shared", "local")
