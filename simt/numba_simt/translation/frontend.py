"""The front end: from an unmodified Python function to the program of the SIMT machine.

The kernel is compiled again and again, each time knowing the types of the variables, and which of
them differ between lanes, a little better, until nothing changes.
"""

import ast
from collections.abc import Callable

from numba import types

from numba_simt.errors import CompileError
from numba_simt.instructions.emitter import Facts, Scope
from numba_simt.instructions.states import is_state
from numba_simt.program import Program
from numba_simt.reading.pruning import pruned
from numba_simt.reading.source import Source
from numba_simt.translation.statements import Statements
from numba_simt.values import Object, Value, is_number, register_type

PASSES = 50


def compile_kernel(function: Callable, argument_types: tuple, debug: bool = False) -> Program:
    """The program of a kernel for arguments of these Numba types; CompileError if there is none.

    `debug`: as cuda.jit(debug=True), a division by 0 of floats stops the kernel, too.
    """
    text = pruned(function)
    try:
        return _compile(text, function, argument_types, debug)
    except RecursionError:
        raise CompileError(
            f"`{text.name}` has an expression too deeply nested: split it.", text.filename
        ) from None


def _compile(text: Source, function: Callable, argument_types: tuple, debug: bool) -> Program:
    facts = Facts(debug=debug)
    scope = Scope(text, function)
    for _ in range(PASSES):
        known = len(facts.bound)
        facts.changed = False
        facts.undefined = None
        compiler = Statements(facts, scope)
        scalar_arguments = declare_parameters(compiler, argument_types)
        compiler.body(text.tree.body)
        compiler.place(compiler.exit)
        compiler.emit("EXIT")
        settled = not facts.changed
        if facts.undefined and settled and known == len(facts.bound):
            compiler.scope, compiler.line = facts.undefined.args
            compiler.refuse("a variable is read here that nothing assigned before: assign it.")
        if settled and not facts.undefined:
            return finished_program(compiler, scalar_arguments)
    compiler.refuse("the types of its variables depend on each other without end: use more names.")


def declare_parameters(compiler: Statements, argument_types: tuple) -> list[tuple]:
    """Binds the kernel's parameters; returns Program.scalar_arguments."""
    tree = compiler.scope.source.tree
    if tree.args.vararg or tree.args.kwarg or tree.args.kwonlyargs:
        compiler.refuse("a kernel's parameters are plain names: no *args, no keywords.")
    parameters = compiler.scope.source.webs.parameters
    if len(parameters) != len(argument_types):
        compiler.refuse(f"the kernel takes {len(parameters)} arguments, not {len(argument_types)}.")
    scalars = []
    for position, (parameter, kind) in enumerate(zip(parameters, argument_types, strict=True)):
        value = _declare(compiler, position, parameter, kind)
        if isinstance(value, Value):
            scalars.append((position, ~value.register, register_type(kind), kind))
        compiler.parameter(compiler.scope, parameter, value)
    return scalars


def _declare(compiler: Statements, position: int, parameter: ast.arg, kind: object) -> object:
    """A parameter as a value of the compiler: an array, a number, or None."""
    name = parameter.arg
    if isinstance(kind, types.Array) and is_state(kind.dtype) and kind.ndim == 1:
        return compiler.declare_states(kind, position, name)
    if isinstance(kind, types.Array):
        c_order = kind.layout == "C"
        return compiler.declare(
            "global", kind.dtype, kind.ndim, argument=position, name=name, c_order=c_order
        )
    if is_number(kind):
        return Value(kind, compiler.new_register(scalar=True))
    if isinstance(kind, types.NoneType | types.Omitted):
        return Object(None)
    compiler.refuse(f"the argument `{name}` is a {kind}: kernels take arrays and numbers.")


def finished_program(compiler: Statements, scalar_arguments: list[tuple]) -> Program:
    """What the last pass made, in the numbers of the machine: a scalar register is not negative."""
    text = compiler.scope.source
    constants = [(~register, *rest) for register, *rest in compiler.constants.values()]
    extents = [(*key, ~register) for key, register in compiler.extents.items()]
    return Program(
        name=text.name,
        filename=text.filename,
        first_line=text.first_line,
        source=text.lines,
        code=compiler.finish(),
        lines=tuple(compiler.lines),
        vectors=compiler.vectors,
        scalars=compiler.scalars,
        constants=tuple(constants),
        scalar_arguments=tuple(scalar_arguments),
        extents=tuple(extents),
        arrays=tuple(compiler.arrays),
        specials=compiler.specials,
        prints=tuple(compiler.prints),
    )
