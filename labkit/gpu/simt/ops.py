"""The instruction set of the SIMT machine: one row for each instruction, read by both sides.

A row names the instruction's operands in their order, and the register types it is defined for. The
front end (emitter.py) refuses every other type; `c_header` turns the rows into C enumerations and
tables, so that neither an operand's position nor a function's types are written down twice.

In the program an instruction is eleven int32: operation, type, eight operands, and its source line.
"""

from collections.abc import Iterable, Iterator
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

_GROUPS = {
    "any": TYPES,
    "integer": ("I64", "U64"),
    "float": ("F16", "F32", "F64"),
    "complex": ("C64", "C128"),
}

# Operations | operands | types of what they compute with (of CVT: of what it converts).
# `result` is written; `index` stands for the rest: one index for each dimension.
_INSTRUCTIONS = """
ADD SUB MUL POW EQ NE              | result a b                  | any
DIV                                | result a b                  | float complex
FLOORDIV MOD MIN MAX LT LE         | result a b                  | integer float
AND OR XOR SHL SHR                 | result a b                  | integer
NEG ABS MOV COPY                   | result a                    | any
NOT                                | result a                    | integer
FMA                                | result a b c                | float
MATH CLASSIFY                      | result a function           | float complex
MATH2                              | result a b function         | float
POWI LDEXP                         | result a n                  | F32 F64
SELECT                             | result test a b             | any
CVT                                | result a to                 | any
TRUNCATE                           | result a to                 | float
NARROW                             | result a to                 | integer
POPC CLZ BREV FFS                  | result a width              | integer
REAL IMAG                          | result a                    | complex
COMPLEX                            | result a b                  | complex
DIVISOR                            | none a                      | integer float
CHECK                              | result a length axis array  | I64
LD                                 | result array index          | any
ST                                 | array value index           | any
LDV                                | result array index          | I64 F32
STV                                | array value index           | I64 F32
ATOMIC_ADD ATOMIC_SUB ATOMIC_MAX ATOMIC_MIN ATOMIC_NANMAX ATOMIC_NANMIN \
                                   | result array value comparand index | integer F32 F64
ATOMIC_AND ATOMIC_OR ATOMIC_XOR ATOMIC_EXCH ATOMIC_INC ATOMIC_DEC ATOMIC_CAS \
                                   | result array value comparand index | integer
SHFL_IDX SHFL_UP SHFL_DOWN SHFL_XOR | result mask a lane         | integer F32 F64
VOTE_ALL VOTE_ANY VOTE_EQ VOTE_BALLOT | result mask predicate    | I64
MATCH_ANY MATCH_ALL                | result mask a same          | integer F32 F64
ACTIVEMASK LANEMASK_LT             | result                      | I64
SYNCWARP                           | none mask                   | I64
MMA                                | result a b c                | F16
BARRIER                            |                             | I64
BARRIER_COUNT BARRIER_AND BARRIER_OR | result predicate          | I64
FENCE FENCE_BLOCK                  |                             | I64
IF TEST JZ                         | test target                 | I64
ELSE ENDIF JOIN CONTINUE LOOPELSE ENDLOOP RET JMP | none target  | I64
BREAK                              | frames target               | I64
LOOP EXIT                          |                             | I64
NEXT                               | counter target step limit   | I64
"""


class Instruction(NamedTuple):
    operands: tuple[str, ...]
    types: frozenset[str]  # names of register types


def _types(words: str) -> frozenset[str]:
    return frozenset(t for word in words.split() for t in _GROUPS.get(word, (word,)))


def _rows(table: str) -> Iterator[list[str]]:
    """The cells of a table's lines."""
    for line in table.strip().splitlines():
        yield [cell.strip() for cell in line.split("|")]


INSTRUCTIONS = {
    name: Instruction(tuple(operands.split()), _types(types))
    for names, operands, types in _rows(_INSTRUCTIONS)
    for name in names.split()
}
OPS = tuple(INSTRUCTIONS)
OP = {name: number for number, name in enumerate(OPS)}
ATOMICS = [name for name in OPS if name.startswith("ATOMIC_")]
WRITES_A_REGISTER = {name for name, row in INSTRUCTIONS.items() if "result" in row.operands}


def column(op: str, operand: str) -> int:
    """Where that operand stands in a row of the program."""
    return FIRST + INSTRUCTIONS[op].operands.index(operand)


# Functions of C's math library, and their types: `sqrt` for float64, `sqrtf` for float32 and, with
# one rounding more, float16, `csqrt` for complex128. `own_...` are those of c/functions.h.
_MATH = """
sqrt exp log sin cos tanh                          | float complex
tan asin acos atan sinh cosh asinh acosh atanh     | F32 F64 complex
exp2 own_exp10 log2 log10 own_rsqrt                | float
floor ceil trunc rint fabs                         | float
expm1 log1p erf erfc tgamma lgamma cbrt round      | F32 F64
own_rcbrt own_sinpi own_cospi                      | F32 F64
own_mantissa own_exponent own_fraction             | F32 F64
"""
_MATH2 = """
atan2 hypot copysign fmod remainder fmin fmax fdim nextafter pow own_fast_pow | F32 F64
own_maximum own_minimum own_fmax own_fmin                                  | float
"""


def _functions(table: str) -> dict[str, frozenset[str]]:
    return {name: _types(types) for names, types in _rows(table) for name in names.split()}


MATH, MATH2 = _functions(_MATH), _functions(_MATH2)
CLASSIFY = dict.fromkeys(("isnan", "isinf", "isfinite"), _types("float complex"))
CLASSIFY["signbit"] = _types("float")
FUNCTIONS = {"MATH": MATH, "MATH2": MATH2, "CLASSIFY": CLASSIFY}  # what `function` may be

# What is counted for each source line; labkit/gpu/counters.toml says what each one means.
COUNTERS = """
    instructions lanes branches divergent_branches barriers atomics atomic_lanes
    global_load_requests global_load_sectors global_load_bytes global_store_requests
    global_store_sectors global_store_bytes shared_load_requests shared_load_transactions
    shared_load_conflicts shared_load_bytes shared_store_requests shared_store_transactions
    shared_store_conflicts shared_store_bytes local_loads local_stores flops_fp16 flops_fp32
    flops_fp64 float64 special
""".split()
HAZARDS = "race out_of_bounds misaligned divergent_barrier barrier_after_return".split()
HAZARDS += "uninitialised deadlock endless_loop inactive_lane division_by_zero same_value".split()
HAZARDS += ["too_large", "internal"]
SPACES = ["global", "constant", "shared", "local"]


def c_header() -> str:
    """The tables in C: OP_ADD, LD_array, T_F32, M_f32, MATH_sqrt, and functions by type."""
    enumerations = {"OP": OPS, "T": RT, "M": MT, "K": COUNTERS, "H": HAZARDS, "SPACE": SPACES}
    enumerations |= FUNCTIONS
    lines = [_enumeration(prefix, names) for prefix, names in enumerations.items()]
    for family, row in {name.split("_")[0]: row for name, row in INSTRUCTIONS.items()}.items():
        lines.append(_enumeration(family, row.operands) if row.operands else "")
    for name, functions in (("MATH", MATH), ("MATH2", MATH2)):
        lines += [f"#define {name}_{kind} {_pointers(name, functions, kind)}" for kind in TYPES]
    lines.append(_array("memory_size", MEMORY.values()))
    lines.append(f"enum {{ N_K = {len(COUNTERS)}, COLUMNS = {COLUMNS}, NONE = {NONE} }};")
    lines.append(f"enum {{ MAX_DIMS = {MAX_DIMENSIONS}, OPERANDS = {OPERANDS} }};")
    return "\n".join(lines) + "\n"


def _enumeration(prefix: str, names: Iterable[str]) -> str:
    return f"enum {{ {', '.join(f'{prefix}_{name}' for name in names)} }};"


def _array(name: str, numbers: Iterable[int]) -> str:
    return f"static const int {name}[] = {{ {', '.join(map(str, numbers))} }};"


def _pointers(table: str, functions: dict[str, frozenset[str]], kind: str) -> str:
    """The initialisers of a C table of the functions that exist for a type."""
    pattern = {"F64": "{}", "C64": "c{}f", "C128": "c{}"}.get(kind, "{}f")
    having = (name for name, types in functions.items() if kind in types)
    return ", ".join(f"[{table}_{name}] = {pattern.format(name)}" for name in having)
