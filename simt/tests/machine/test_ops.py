"""The table of instructions: C has a case for every row, and nothing else gets through."""

from dataclasses import replace

import numpy as np
import pytest
from numba import types

from numba_simt import ops
from numba_simt.errors import CompileError
from numba_simt.execution import machine, tables
from numba_simt.instructions.emitter import Facts, Scope
from numba_simt.reading.source import parse
from numba_simt.reading.typing_rules import number
from numba_simt.translation.frontend import declare_parameters, finished_program
from numba_simt.translation.statements import Statements
from numba_simt.values import Value, register_type

KINDS = {"I64": "int64", "U64": "uint64", "F16": "float16", "F32": "float32", "F64": "float64"}
KINDS |= {"C64": "complex64", "C128": "complex128"}
NUMBERS = {"a", "b", "c"}  # operands that are numbers of the instruction's type
PLAIN = [
    (name, kind)
    for name, row in ops.INSTRUCTIONS.items()
    for kind in sorted(row.types)
    if set(row.operands) <= NUMBERS | {"result", "function"} and "result" in row.operands
    if name != "MMA"  # the whole warp's: tests/gpu/layers/test_tensor_core.py
]
POISON = 77


def kernel(x, out):
    out[0] = 0


def program_of(name: str, kind: str, function: int | None = None):
    """A program that computes one instruction of x[0] and stores what it wrote."""
    numba_type = getattr(types, KINDS[kind])
    row = ops.INSTRUCTIONS[name]
    result = numba_type
    if name in ("LT", "LE", "EQ", "NE", "CLASSIFY"):
        result = types.boolean
    if name in ("REAL", "IMAG", "ABS") and kind.startswith("C"):
        result = numba_type.underlying_float
    if name == "COMPLEX":
        numba_type = numba_type.underlying_float
    arrays = types.Array(numba_type, 1, "C"), types.Array(result, 1, "C")
    compiler = Statements(Facts(), Scope(parse(kernel), kernel))
    declared = declare_parameters(compiler, arrays)
    x, out = (
        compiler.read_variable((compiler.scope, p)) for p in compiler.scope.source.webs.parameters
    )
    operands = [
        compiler.load(compiler.select(x, [number(0)])) for o in row.operands if o in NUMBERS
    ]
    register = compiler.new_register(False)
    of_poison = POISON if not isinstance(result, types.Boolean) else 1
    compiler.emit("COPY", register, Value(result, constant=of_poison), type=register_type(result))
    more = [function] if "function" in row.operands else []
    compiler.emit(name, register, *operands, *more, type=ops.RT[kind])
    compiler.store(compiler.select(out, [number(0)]), Value(result, register))
    compiler.place(compiler.exit)
    compiler.emit("EXIT")
    return finished_program(compiler, declared), str(numba_type), str(result)


def run(program, given: str, result: str, value: float = 0.5):
    x, out = np.full(32, value).astype(given), np.zeros(1, np.dtype(result))
    outcome = machine.run(program, (1, 1, 1), (1, 1, 1), [x, out])
    return outcome, out[0]


@pytest.mark.parametrize(("name", "kind"), PLAIN)
def test_every_row_has_its_case_in_c(name, kind):
    """The register does not keep what it held before."""
    functions = ops.FUNCTIONS.get(name, {"": ops.INSTRUCTIONS[name].types})
    for number_of, (function, kinds) in enumerate(functions.items()):
        if kind in kinds:
            outcome, found = run(*program_of(name, kind, number_of), value=2)
            assert outcome.completed, function
            assert found != POISON or name == "COPY", function


@pytest.mark.parametrize("name", ["MATH", "MATH2", "CLASSIFY", "POW", "DIV", "NOT", "MIN"])
def test_the_front_end_refuses_types_that_a_row_has_not(name):
    missing = set(ops.TYPES) - ops.INSTRUCTIONS[name].types
    for kind in sorted(missing):
        with pytest.raises(CompileError, match=f"no {name} for {kind}"):
            program_of(name, kind, 0)


def forged(program, **changes):
    """The program with its last but two instructions (the one under test) changed."""
    code = program.code.copy()
    at = next(i for i, row in enumerate(code) if ops.OPS[row[0]] in ("MATH", "ADD"))
    for what, value in changes.items():
        code[at, {"op": 0, "type": 1}.get(what, 0) if what != "function" else 4] = value
    return replace(program, code=code)


@pytest.mark.parametrize(
    ("name", "kind", "change"),
    [
        ("MATH", "F32", {"type": ops.RT["I64"]}),
        ("MATH", "F32", {"type": 99}),
        ("MATH", "C64", {"function": list(ops.MATH).index("floor")}),
        ("MATH", "F64", {"function": 10_000}),
        ("MATH", "F64", {"function": -5}),
        ("ADD", "F32", {"type": 99}),
        ("ADD", "F32", {"op": 10_000}),
    ],
)
def test_what_no_row_allows_stops_the_machine(name, kind, change):
    """An internal error, the arrays untouched, and the machine as good as new."""
    program, given, result = program_of(name, kind, 0)
    if "function" in change:
        assert ops.column("MATH", "function") == 4
    outcome, found = run(forged(program, **change), given, result)
    assert not outcome.completed
    assert "Internal error" in outcome.hazards[-1].sentence and found == 0
    assert run(program, given, result)[0].completed


def test_positions_of_operands_are_written_once():
    header = tables.c_header()
    assert "ATOMIC_array" in header and "LD_index" in header and "csqrt" in header
    assert ops.column("ST", "array") == ops.FIRST
    assert ops.column("ATOMIC_ADD", "array") == ops.FIRST + 1
    with pytest.raises(ValueError):
        ops.column("ADD", "array")
