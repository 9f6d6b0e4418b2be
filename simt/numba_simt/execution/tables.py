"""The instruction set as C reads it: enumerations and tables, written from the rows of ops.py."""

from collections.abc import Iterable

from numba_simt import ops


def c_header() -> str:
    """The tables in C: OP_ADD, LD_array, T_F32, M_f32, MATH_sqrt, and functions by type."""
    lines = [
        _enumeration("OP", ops.OPS),
        _enumeration("T", ops.RT),
        _enumeration("M", ops.MT),
        _enumeration("K", ops.COUNTERS),
        _enumeration("H", ops.HAZARDS),
        _enumeration("SPACE", ops.SPACES),
    ]
    for table, functions in ops.FUNCTIONS.items():
        lines.append(_enumeration(table, functions))
    for family, operands in _operands_of_families().items():
        lines.append(_enumeration(family, operands))
    for table in ("MATH", "MATH2"):
        for kind in ops.TYPES:
            pointers = _pointers(table, ops.FUNCTIONS[table], kind)
            lines.append(f"#define {table}_{kind} {pointers}")
    sizes = ", ".join(map(str, ops.MEMORY.values()))
    lines.append(f"static const int memory_size[] = {{ {sizes} }};")
    constants = {
        "N_K": len(ops.COUNTERS),
        "COLUMNS": ops.COLUMNS,
        "NONE": ops.NONE,
        "MAX_DIMS": ops.MAX_DIMENSIONS,
        "OPERANDS": ops.OPERANDS,
    }
    lines += [f"enum {{ {name} = {value} }};" for name, value in constants.items()]
    return "\n".join(lines) + "\n"


def _operands_of_families() -> dict[str, tuple[str, ...]]:
    """Instructions that begin alike have their operands alike: ATOMIC, SHFL, VOTE, BARRIER."""
    families = {}
    for name, row in ops.INSTRUCTIONS.items():
        if row.operands:
            families[name.split("_")[0]] = row.operands
    return families


def _enumeration(prefix: str, names: Iterable[str]) -> str:
    members = ", ".join(f"{prefix}_{name}" for name in names)
    return f"enum {{ {members} }};"


def _pointers(table: str, functions: dict[str, frozenset[str]], kind: str) -> str:
    """The initialisers of a C table of the functions that exist for a type."""
    pattern = {"F64": "{}", "C64": "c{}f", "C128": "c{}"}.get(kind, "{}f")
    having = (name for name, types in functions.items() if kind in types)
    return ", ".join(f"[{table}_{name}] = {pattern.format(name)}" for name in having)
