"""Instructions and registers, during one pass over a kernel."""

import ast
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from numba_simt.errors import CompileError, LimitError
from numba_simt.ops import COLUMNS, INSTRUCTIONS, NONE, OP, TYPES
from numba_simt.program import ArraySpec, Line, Print, Raised
from numba_simt.reading.source import Source
from numba_simt.values import (
    Choice,
    Closure,
    Compound,
    Cuda,
    Object,
    Optional,
    Value,
    Variable,
    Vector,
    View,
    rebuilt,
    register_type,
)


class Undefined(Exception):
    """A variable is read of which this pass does not know an assignment yet: (scope, line)."""


class Label:
    """A place in the code, known only later."""

    position = -1


@dataclass(eq=False)
class Scope:
    """A function that is being compiled: the kernel, or one inlined call."""

    source: Source
    function: Callable
    parent: "Scope | None" = None
    call: Line | None = None  # where it is called
    hidden: bool = False  # of our own library: what it does happens in the line that calls it
    closure: Closure | None = None  # it is defined within another function


@dataclass
class Facts:
    """What one pass learns for the next."""

    variables: dict = field(default_factory=lambda: defaultdict(Variable))
    bound: dict = field(default_factory=dict)  # (scope, web, ...) -> Variable, tuple, View, ...
    scopes: dict = field(default_factory=dict)  # (scope, call, function) -> Scope
    implementations: dict = field(default_factory=dict)  # of overloads, by their types
    framed: set = field(default_factory=set)  # loops and inlined calls that need a mask frame
    divided: set = field(default_factory=set)  # (scope, web) whose assignments differ in type
    forms: dict = field(default_factory=dict)  # key -> the arrays it may hold: View.form -> View
    optional: set = field(default_factory=set)  # keys that hold a number or None
    changed: bool = False
    debug: bool = False  # cuda.jit(debug=True)
    sources: dict = field(default_factory=dict)  # function -> Source, of those with unrolled loops
    undefined: Undefined | None = None
    endless: set = field(default_factory=set)  # functions whose calls of themselves end nowhere

    def frame(self, key: object) -> None:
        """From the next pass on this loop or call has a mask frame."""
        self.changed |= key not in self.framed
        self.framed.add(key)

    def divide(self, key: tuple) -> None:
        """From the next pass on each version of this variable has a type of its own.

        What was seen of types is forgotten, because it may have come from the wider type of all.
        """
        self.divided.add(key)
        self.variables.clear()
        self.bound.clear()
        self.optional.clear()
        self.changed = True


class Emitter:
    """The lowest layer of the compiler: one pass's instructions, registers and arrays."""

    def __init__(self, facts: Facts, scope: Scope) -> None:
        self.facts = facts
        self.scope = scope
        self.line = scope.source.first_line
        self.at: ast.AST = scope.source.tree  # the node that is being compiled
        self.code: list[list] = []
        self.lines: dict[Line, int] = {}
        self.vectors = 0  # number of registers
        self.scalars = 0
        self.constants: dict[tuple[int, str], tuple[int, int, object]] = {}
        self.arrays: list[ArraySpec] = []
        self.sites: dict[object, View] = {}  # call of shared.array -> its array
        self.extents: dict[tuple[int, int], int] = {}
        self.specials: dict[str, int] = {}
        self.prints: list[Print] = []
        self.exceptions: list[Raised] = []
        self.cooperative = False  # it asks for the whole grid
        self.turns: dict[ast.AST, int] = {}  # variables of the compiler's own at a node
        self.used: dict[tuple[int, bool], int] = {}  # temporaries in use
        self._pools: dict[tuple[int, bool], list[int]] = defaultdict(list)
        # The register that the last instruction filled, if only the next reader can know of it.
        self.fresh: int | None = None

    def compile(self, node: ast.AST) -> object:
        """A statement: does control never come out at its end?  An expression: its value."""
        handler = getattr(self, f"compile_{type(node).__name__}", self.unknown)
        outer, around = self.line, self.at
        self.line, self.at = node.lineno, node
        result = handler(node)
        self.line, self.at = outer, around
        return result

    def unknown(self, node: ast.AST) -> NoReturn:
        """Refuses a node that no layer compiles; the uppermost one says what to do."""
        self.refuse(f"a kernel cannot contain `{type(node).__name__.lower()}`.")

    def place_in_source(self) -> Line:
        """The line that is being compiled, as the learner sees it."""
        if self.scope.hidden:
            return self.scope.call
        source = self.scope.source
        call = None
        scope = self.scope
        while scope.parent:  # up to the kernel
            call = scope.call
            scope = scope.parent
        if scope.source.filename == source.filename:
            call = None
        return Line(source.filename, self.line, source.text(self.line), source.name, call)

    def limit(self, sentence: str) -> NoReturn:
        """LimitError: what Numba takes, and this machine does not."""
        self.refuse(sentence, LimitError)

    def refuse(self, sentence: str, error: type[CompileError] = CompileError) -> NoReturn:
        """CompileError with the line that is being compiled; what Numba refuses as well."""
        line = self.place_in_source()
        if line.call:
            sentence = f"inside {line.function}, line {line.number} (`{line.text}`): {sentence}"
            line = line.call
        raise error(sentence, line.filename, line.number, line.text)

    def describe(self, value: object) -> str:
        """What a value is, for a sentence: "an int32", "a tuple of 2"."""
        match value:
            case Value():
                article = "an" if str(value.type)[0] in "iu" else "a"
                return f"{article} {value.type}"
            case View() if value.fixed and not value.axes:
                return f"an element of {self.arrays[value.array].name}"
            case View():
                return f"the {len(value.axes)}-d array {self.arrays[value.array].name}".rstrip()
            case Vector():
                return f"a {value.name}"
            case Optional():
                return f"{self.describe(value.number)} or None"
            case Choice():
                return f"a choice of {len(value.axes)}-d arrays"
            case Compound():
                return f"a {type(value).__name__.lower()}"
            case Closure():
                return f"the function `{getattr(value.tree, 'name', 'lambda')}`"
            case Cuda():
                return f"cuda.{value}".rstrip(".")
            case Object():
                return f"`{getattr(value.value, '__name__', value.value)}`"
        return f"a tuple of {len(value)}"

    def emit(self, name: str, *operands: object, type: int = 0) -> None:
        """Appends an instruction; its operands are values, labels, numbers or None."""
        if TYPES[type] not in INSTRUCTIONS[name].types:  # the last gate before the machine
            self.refuse(f"the SIMT machine has no {name} for {TYPES[type]}: convert the numbers.")
        row = [OP[name], type, *map(self._operand, operands)]
        row += [NONE] * (COLUMNS - 1 - len(row))
        row.append(self.lines.setdefault(self.place_in_source(), len(self.lines)))
        self.code.append(row)
        self.fresh = None

    def op(
        self,
        name: str,
        result: object,
        *operands: object,
        of: object = None,
        vector: bool = False,
    ) -> Value:
        """A new number of type `result`, computed from operands of type `of`."""
        scalar = not vector and all(o.scalar for o in operands if isinstance(o, Value))
        register = self.temporary(register_type(result), scalar)
        self.emit(name, register, *operands, type=register_type(of or result))
        self.fresh = register
        return Value(result, register)

    def place(self, label: Label) -> None:
        """The label is here."""
        label.position = len(self.code)
        self.fresh = None

    def finish(self) -> np.ndarray:
        """The instructions, int32 [n, 11]."""
        code = []
        for row in self.code:
            code.append([x.position if isinstance(x, Label) else x for x in row])
        return np.array(code, np.int32)

    def _operand(self, operand: object) -> int | Label:
        if isinstance(operand, int | Label):
            return operand
        if operand is None:
            return NONE
        if not isinstance(operand, Value):
            self.refuse(f"a number is needed here, not {self.describe(operand)}.")
        if operand.register is not None:
            return operand.register
        return self._constant(register_type(operand.type), operand.constant)

    def _constant(self, kind: int, constant: object) -> int:
        """The scalar register that holds a constant; equal constants share one."""
        key = (kind, repr(constant))
        if key not in self.constants:
            self.constants[key] = (self.new_register(scalar=True), kind, constant)
        register, _, _ = self.constants[key]
        return register

    def new_register(self, scalar: bool) -> int:
        """A register of its own: vector r, or scalar ~s."""
        if scalar:
            self.scalars += 1
            return -self.scalars
        self.vectors += 1
        return self.vectors - 1

    def temporary(self, kind: int, scalar: bool) -> int:
        """A register of that type until the end of the statement."""
        key = (kind, scalar)
        pool = self._pools[key]
        used = self.used.get(key, 0)
        self.used[key] = used + 1
        if used == len(pool):
            pool.append(self.new_register(scalar))
        return pool[used]

    def special(self, name: str, type: object) -> Value:
        """threadIdx.x and the like"""
        if name not in self.specials:
            whole_block = name.startswith(("block", "grid"))
            self.specials[name] = self.new_register(scalar=whole_block)
        return Value(type, self.specials[name])

    def hold(self, value: object) -> object:
        """What it is now, whatever happens to its variable in this statement."""
        if isinstance(value, Value) and value.named:
            return self.op("COPY", value.type, value)
        if isinstance(value, tuple):
            return rebuilt(value, map(self.hold, value))
        if isinstance(value, Compound):
            return value.map(lambda _, item: self.hold(item))
        return value
