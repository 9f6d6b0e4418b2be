"""The instruction set of the SIMT machine: one table, read by the front end and by machine.c.

An instruction is a row of eleven int32: operation, register type, eight operands, source line.
`c_header` turns the tables into C enumerations, so that the numbers exist once.
"""

COLUMNS = 11  # operation, type, o0 .. o7, index into Program.lines
NONE = 2**30  # an operand that is not there
MAX_DIMENSIONS = 6

# How a value lies in a register.  Narrower integers and bool are kept in I64; F16 is kept as a
# float32 that is rounded to half precision after every operation.
TYPES = ("I64", "U64", "F16", "F32", "F64", "C64", "C128")
RT = {name: number for number, name in enumerate(TYPES)}

# How an element lies in memory, with its size in bytes.
MEMORY = {"b1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8}
MEMORY |= {"f16": 2, "f32": 4, "f64": 8, "c64": 8, "c128": 16}
MT = {name: number for number, name in enumerate(MEMORY)}

ARITHMETIC = "ADD SUB MUL DIV FLOORDIV MOD POW NEG ABS FMA MIN MAX AND OR XOR SHL SHR NOT".split()
COMPARISONS = ["LT", "LE", "EQ", "NE"]
MOVES = "SELECT MOV COPY CVT NARROW MATH MATH2 POPC CLZ BREV FFS REAL IMAG COMPLEX".split()
MEMORY_ACCESSES = ["CHECK", "LD", "ST", "LDV", "STV"]
ATOMICS = [
    f"ATOMIC_{kind}" for kind in "ADD SUB MAX MIN NANMAX NANMIN AND OR XOR EXCH INC DEC CAS".split()
]
WARP = "SHFL_IDX SHFL_UP SHFL_DOWN SHFL_XOR VOTE_ALL VOTE_ANY VOTE_EQ BALLOT".split()
WARP += ["MATCH_ANY", "MATCH_ALL", "ACTIVEMASK", "LANEMASK_LT", "SYNCWARP", "MMA"]
BARRIERS = "BARRIER BARRIER_COUNT BARRIER_AND BARRIER_OR FENCE FENCE_BLOCK".split()
CONTROL = "IF ELSE ENDIF LOOP TEST JOIN BREAK CONTINUE LOOPELSE ENDLOOP RET EXIT JMP JZ".split()
CONTROL += ["NEXT"]  # o0 += o2; jump to o1 while o0 has not reached o3
OPS = (*ARITHMETIC, *COMPARISONS, *MOVES, *MEMORY_ACCESSES, *ATOMICS, *WARP, *BARRIERS, *CONTROL)
OP = {name: number for number, name in enumerate(OPS)}

# Functions of C's math library: `name` for float64, `namef` for float32, `cname` for complex128.
COMPLEX_MATH = "sqrt exp log sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh".split()
REAL_MATH = "exp2 expm1 log2 log10 log1p floor ceil trunc rint fabs erf erfc tgamma lgamma".split()
OWN_MATH = ["cbrt", "rsqrt", "sinpi", "cospi", "round"]
PREDICATES = ["isnan", "isinf", "isfinite", "signbit"]  # their result is a bool
MATH = {name: i for i, name in enumerate([*COMPLEX_MATH, *REAL_MATH, *OWN_MATH, *PREDICATES])}
MATH2 = {
    name: i
    for i, name in enumerate(
        "atan2 hypot copysign fmod remainder fmin fmax fdim nextafter ldexp pow".split()
    )
}

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
HAZARDS += ["too_large"]
SPACES = ["global", "constant", "shared", "local"]


def c_header() -> str:
    """The tables as C enumerations: OP_ADD, T_F32, M_f32, FN_sqrt, FN2_atan2."""
    tables = {"OP": OP, "T": RT, "M": MT, "FN": MATH, "FN2": MATH2}
    tables |= {"K": COUNTERS, "H": HAZARDS, "SPACE": SPACES}
    lines = [f"enum {{ {', '.join(f'{p}_{name}' for name in t)} }};" for p, t in tables.items()]
    sizes = ", ".join(str(size) for size in MEMORY.values())
    lines.append(f"static const int memory_size[] = {{ {sizes} }};")
    lines.append(f"enum {{ N_K = {len(COUNTERS)} }};")
    lines.append(f"enum {{ COLUMNS = {COLUMNS}, NONE = {NONE}, MAX_DIMS = {MAX_DIMENSIONS} }};")
    return "\n".join(lines) + "\n"
