"""The front end: from an unmodified Python function to the program of the SIMT machine.

The kernel is compiled again and again, each time knowing the types of the variables, and which of
them differ between lanes, a little better, until nothing changes.
"""

from collections.abc import Callable

from numba import types

from numba_simt.errors import CompileError
from numba_simt.instructions.emitter import Facts, Scope
from numba_simt.program import Program
from numba_simt.reading.pruning import pruned
from numba_simt.reading.source import Source
from numba_simt.reading.unrolling import Unroll, unrolled
from numba_simt.translation.statements import Statements
from numba_simt.values import Object, Value, View, is_number, register_type

PASSES = 50


def compile_kernel(function: Callable, argument_types: tuple, debug: bool = False) -> Program:
    """The program of a kernel for arguments of these Numba types; CompileError if there is none.

    `debug`: as cuda.jit(debug=True), a division by 0 of floats stops the kernel, too.
    """
    text = pruned(function)
    sources: dict[Callable, Source] = {function: text}
    try:
        while True:
            try:
                return _compile(sources, function, argument_types, debug)
            except Unroll as unroll:
                of, *loop = unroll.args
                sources[of] = unrolled(*loop)
    except RecursionError:
        raise CompileError(
            f"`{text.name}` has an expression too deeply nested: split it.", text.filename
        ) from None


def _compile(sources: dict, function: Callable, argument_types: tuple, debug: bool) -> Program:
    facts = Facts(debug=debug, sources=sources)
    scope = Scope(sources[function], function)
    for _ in range(PASSES):
        known = len(facts.bound)
        facts.changed = False
        facts.undefined = None
        facts.endless.clear()
        compiler = Statements(facts, scope)
        scalar_arguments = declare_parameters(compiler, argument_types)
        compiler.body(scope.source.tree.body)
        compiler.place(compiler.exit)
        compiler.emit("EXIT")
        settled = not facts.changed
        if facts.undefined and settled and known == len(facts.bound):
            compiler.scope, compiler.line = facts.undefined.args
            for name in sorted(facts.endless):
                compiler.refuse(
                    f"`{name}` calls itself, and no call of it ends as far as the compiler sees: "
                    "return without a call first, in a branch of its own."
                )
            compiler.refuse("a variable is read here that nothing assigned before: assign it.")
        if settled and not facts.undefined:
            return finished_program(compiler, scalar_arguments)
    compiler.refuse("the types of its variables depend on each other without end: use more names.")


def declare_parameters(compiler: Statements, argument_types: tuple) -> list[tuple]:
    """Binds the kernel's parameters; returns Program.scalar_arguments."""
    tree = compiler.scope.source.tree
    if tree.args.kwarg or tree.args.kwonlyargs:
        compiler.refuse("a kernel's parameters are plain names and *args: no keywords.")
    parameters = compiler.scope.source.webs.parameters
    if len(parameters) != len(argument_types):
        compiler.refuse(f"the kernel takes {len(parameters)} arguments, not {len(argument_types)}.")
    declared = _Declared(compiler)
    for parameter, kind in zip(parameters, argument_types, strict=True):
        compiler.parameter(compiler.scope, parameter, declared.value(parameter.arg, kind))
    return declared.scalars


class _Declared:
    """The parameters of a kernel as values of the compiler; those of a tuple count singly."""

    def __init__(self, compiler: Statements) -> None:
        self._compiler = compiler
        self._position = -1
        self.scalars: list[tuple] = []  # Program.scalar_arguments

    def value(self, name: str, kind: object) -> object:
        """An array, a number, None, or a tuple of them."""
        if isinstance(kind, types.BaseTuple):
            items = [self.value(f"{name}[{i}]", item) for i, item in enumerate(kind)]
            return tuple.__new__(getattr(kind, "instance_class", tuple), items)
        self._position += 1
        if isinstance(kind, types.Array):
            return self._array(name, kind)
        if isinstance(kind, types.Record):
            return self._array(name, types.Array(kind, 0, "C"))
        if is_number(kind):
            value = Value(kind, self._compiler.new_register(scalar=True))
            self.scalars.append((self._position, ~value.register, register_type(kind), kind))
            return value
        if isinstance(kind, types.NoneType | types.Omitted):
            return Object(None)
        self._compiler.refuse(
            f"the argument `{name}` is a {kind}: kernels take arrays, numbers and tuples of them."
        )

    def _array(self, name: str, kind: object) -> View:
        """An array in global memory; a record is an array of it without axes."""
        order = {"c_order": kind.layout == "C", "f_order": kind.layout == "F"}
        place = self._position
        return self._compiler.declare(
            "global", kind.dtype, kind.ndim, argument=place, name=name, **order
        )


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
        exceptions=tuple(compiler.exceptions),
        cooperative=compiler.cooperative,
        specials=compiler.specials,
        prints=tuple(compiler.prints),
    )
