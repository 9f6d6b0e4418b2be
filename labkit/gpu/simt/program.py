"""`compile_kernel`: from an unmodified Python function to the program of the SIMT machine.

The kernel is compiled again and again, each time knowing the types of the variables, and which of
them differ between lanes, a little better, until nothing changes.
"""

from collections.abc import Callable

from numba import types

from labkit.gpu.simt import source
from labkit.gpu.simt.emitter import Facts, Scope
from labkit.gpu.simt.hazards import CompileError
from labkit.gpu.simt.statements import Statements as Compiler
from labkit.gpu.simt.values import Object, Program, Value, is_number, register_type

PASSES = 50


def compile_kernel(function: Callable, argument_types: tuple, debug: bool = False) -> Program:
    """The program of a kernel for arguments of these Numba types; CompileError if there is none.

    `debug`: as cuda.jit(debug=True), a division by 0 of floats stops the kernel, too.
    """
    text = source.read(function)
    try:
        return _compile(text, function, argument_types, debug)
    except RecursionError:
        raise CompileError(
            f"`{text.name}` has an expression too deeply nested: split it.", text.filename
        ) from None


def _compile(
    text: source.Source, function: Callable, argument_types: tuple, debug: bool
) -> Program:
    facts, scope = Facts(debug=debug), Scope(text, function)
    for _ in range(PASSES):
        known = len(facts.bound)
        facts.changed, facts.undefined = False, None
        compiler = Compiler(facts, scope)
        arguments = _declare(compiler, argument_types)
        compiler.body(text.tree.body)
        compiler.place(compiler.exit)
        compiler.emit("EXIT")
        if facts.undefined and not facts.changed and known == len(facts.bound):
            compiler.scope, compiler.line = facts.undefined.args
            compiler.refuse("a variable is read here that nothing assigned before: assign it.")
        if not facts.changed and not facts.undefined:
            return _program(compiler, arguments)
    compiler.refuse("the types of its variables depend on each other without end: use more names.")


def _declare(compiler: Compiler, argument_types: tuple) -> list[tuple]:
    """Binds the kernel's parameters; returns Program.scalar_arguments."""
    tree, webs, found = compiler.scope.source.tree, compiler.scope.source.webs, []
    if tree.args.vararg or tree.args.kwarg or tree.args.kwonlyargs:
        compiler.refuse("a kernel's parameters are plain names: no *args, no keywords.")
    if len(webs.parameters) != len(argument_types):
        found = len(webs.parameters), len(argument_types)
        compiler.refuse("the kernel takes {} arguments, not {}.".format(*found))
    for position, (parameter, kind) in enumerate(zip(webs.parameters, argument_types, strict=True)):
        name = parameter.arg
        if isinstance(kind, types.Array):
            spec = {"argument": position, "name": name, "c_order": kind.layout == "C"}
            value = compiler.declare("global", kind.dtype, kind.ndim, **spec)
        elif is_number(kind):
            value = Value(kind, compiler.new_register(True))
            found.append((position, ~value.register, register_type(kind), kind))
        elif isinstance(kind, types.NoneType | types.Omitted):
            value = Object(None)
        else:
            compiler.refuse(f"the argument `{name}` is a {kind}: kernels take arrays and numbers.")
        compiler.parameter(compiler.scope, parameter, value)
    return found


def _program(compiler: Compiler, arguments: list[tuple]) -> Program:
    text = compiler.scope.source
    return Program(
        name=text.name,
        filename=text.filename,
        first_line=text.first_line,
        source=text.lines,
        code=compiler.finish(),
        lines=tuple(compiler.lines),
        vectors=compiler.counts[False],
        scalars=compiler.counts[True],
        constants=tuple((~register, *rest) for register, *rest in compiler.constants.values()),
        scalar_arguments=tuple(arguments),
        extents=tuple((*key, ~register) for key, register in compiler.extents.items()),
        arrays=tuple(compiler.arrays),
        specials=compiler.specials,
    )
