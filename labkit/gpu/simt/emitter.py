"""Instructions, registers, variables and regions, during one pass over a kernel."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from labkit.gpu.simt.hazards import CompileError
from labkit.gpu.simt.ops import COLUMNS, NONE, OP
from labkit.gpu.simt.source import Source
from labkit.gpu.simt.values import ArraySpec, Cuda, Object, Value, View, register_type

MAX_FRAMES = 60  # the machine has room for 64


class Undefined(Exception):
    """A variable is read of which this pass does not know an assignment yet."""


class Label:
    """A place in the code, known only later."""

    position = -1


@dataclass(eq=False)
class Variable:
    """A number with a name: its type, and whether it differs between lanes."""

    type: object = None
    vector: bool = False
    # May an instruction write all lanes at once, also those that the mask excludes?  It may when
    # all lanes reach every assignment, or when all that happens to it happens in one region.
    direct: bool = True


@dataclass(eq=False)
class Scope:
    """A function that is being compiled: the kernel, or one inlined call."""

    source: Source
    function: Callable
    parent: "Scope | None" = None


@dataclass
class Facts:
    """What one pass learns for the next."""

    variables: dict = field(default_factory=dict)
    bound: dict = field(default_factory=dict)  # (scope, web, ...) -> Variable, tuple, View, ...
    scopes: dict = field(default_factory=dict)  # (scope, call) -> Scope
    framed: set = field(default_factory=set)  # loops and inlined calls that need a mask frame
    partial: set = field(default_factory=set)  # loops that some lanes leave before others
    changed: bool = False
    undefined: Undefined | None = None

    def frame(self, key: object, partial: bool) -> None:
        self.changed |= key not in self.framed or (partial and key not in self.partial)
        self.framed.add(key)
        self.partial |= {key} if partial else set()


class Block:
    """A piece of code; its region is the largest block around it that the same lanes run."""

    def __init__(self, parent: "Block | None", divergent: bool) -> None:
        self.parent = parent
        self.region = self if divergent else parent.region

    def within(self, other: "Block") -> bool:
        return self is other or (self.parent is not None and self.parent.within(other))


@dataclass(eq=False)
class Construct:
    """An `if`, loop or inlined call around the current place."""

    kind: str  # "if", "loop", "else" (of a loop), "call"
    framed: bool  # it has a mask frame
    closing: Label  # where control goes when the frame's mask is empty
    block: Block | None = None
    key: object = None
    end: Label | None = None  # behind it: where `break` and `return` jump without a frame
    leaks: bool = False  # lanes that `continue` are missing after it
    broken: bool = False  # it has a `break`
    value: object = None  # call: what it returns
    used: dict | None = None


class Emitter:
    def __init__(self, facts: Facts, scope: Scope) -> None:
        self.facts, self.scope, self.line = facts, scope, scope.source.first_line
        self.code: list[list[int]] = []
        self.lines: dict[tuple[Source, int], int] = {}
        self.counts = [0, 0]  # vector and scalar registers
        self.constants: dict[tuple[int, str], tuple[int, int, object]] = {}
        self.arrays: list[ArraySpec] = []
        self.sites: dict[object, View] = {}  # call of shared.array -> its array
        self.extents: dict[tuple[int, int], int] = {}
        self.specials: dict[str, int] = {}
        self.stack: list[Construct] = []
        self.exit = Label()
        self.root = self.block = Block(None, True)
        self.used: dict[tuple[int, bool], int] = {}  # temporaries in use
        self._pools: dict[tuple[int, bool], list[int]] = {}
        self._patches: list[tuple[int, int, Label]] = []
        self._fence = 0  # the instruction here may be jumped to: those before stay as they are
        self._homes: dict[Variable, int] = {}
        self._first: dict[Variable, Block] = {}
        self._strays, self._unrooted, self._assigned = set(), set(), set()

    def compile(self, node: ast.AST) -> object:
        """A statement: does control never come out at its end?  An expression: its value."""
        handler, outer = getattr(self, f"compile_{type(node).__name__}", self.unknown), self.line
        self.line = node.lineno
        result = handler(node)
        self.line = outer
        return result

    def body(self, statements: list[ast.stmt]) -> bool:
        return any(self._statement(node) for node in statements)  # dead code is left out

    def _statement(self, node: ast.stmt) -> bool:
        used, state, depth = dict(self.used), (self.scope, self.block, self.line), len(self.stack)
        try:
            return bool(self.compile(node))
        except Undefined as undefined:
            self.facts.undefined, (self.scope, self.block, self.line) = undefined, state
            del self.stack[depth:]
            return False
        finally:
            self.used = used

    def refuse(self, sentence: str) -> None:
        source = self.scope.source
        raise CompileError(sentence, source.filename, self.line, source.text(self.line))

    def describe(self, value: object) -> str:
        match value:
            case Value():
                return f"{'an' if str(value.type)[0] in 'iu' else 'a'} {value.type}"
            case View():
                return f"the {len(value.axes)}-d array {self.arrays[value.array].name}".rstrip()
            case Cuda():
                return f"cuda.{value}".rstrip(".")
            case Object():
                return f"`{getattr(value.value, '__name__', value.value)}`"
        return f"a tuple of {len(value)}"

    # Instructions.

    def emit(self, name: str, *operands: object, type: int = 0) -> None:
        row = [OP[name], type]
        for operand in operands:
            if isinstance(operand, Value):
                operand = self._register(operand)
            elif isinstance(operand, Label):
                self._patches.append((len(self.code), len(row), operand))
                operand = 0
            elif operand is None:
                operand = NONE
            elif not isinstance(operand, int):
                self.refuse(f"a number is needed here, not {self.describe(operand)}.")
            row.append(operand)
        row += [NONE] * (COLUMNS - 1 - len(row))
        row.append(self.lines.setdefault((self.scope.source, self.line), len(self.lines)))
        self.code.append(row)

    def op(self, name: str, result: object, *operands: object, of=None, vector=False) -> Value:
        """A new number of type `result`, computed from operands of type `of`."""
        scalar = not vector and all(o.scalar for o in operands if isinstance(o, Value))
        register = self.temporary(register_type(result), scalar)
        self.emit(name, register, *operands, type=register_type(of or result))
        return Value(result, register, row=len(self.code) - 1)

    def place(self, label: Label) -> None:
        label.position = self._fence = len(self.code)

    def finish(self) -> np.ndarray:
        for row, column, label in self._patches:
            self.code[row][column] = label.position
        return np.array(self.code, np.int32)

    # Registers.

    def new_register(self, scalar: bool) -> int:
        self.counts[scalar] += 1
        return -self.counts[scalar] if scalar else self.counts[scalar] - 1

    def temporary(self, kind: int, scalar: bool) -> int:
        """A register of that type until the end of the statement."""
        pool, used = self._pools.setdefault((kind, scalar), []), self.used.get((kind, scalar), 0)
        self.used[kind, scalar] = used + 1
        if used == len(pool):
            pool.append(self.new_register(scalar))
        return pool[used]

    def _register(self, value: Value) -> int:
        if value.register is not None:
            return value.register
        key = register_type(value.type), repr(value.constant)
        if key not in self.constants:
            self.constants[key] = (self.new_register(True), key[0], value.constant)
        return self.constants[key][0]

    def special(self, name: str, type: object) -> Value:
        if name not in self.specials:
            scalar = name.startswith(("block", "grid"))
            self.specials[name] = self.new_register(scalar)
        return Value(type, self.specials[name])

    def hold(self, value: object) -> object:
        """A number as it is now, whatever happens to its variable in this statement."""
        named = isinstance(value, Value) and value.named
        return self.op("COPY", value.type, value) if named else value

    def shared(self, value: object) -> object:
        """The value for several readers: no variable may take over its register."""
        if isinstance(value, tuple):
            return tuple(map(self.shared, value))
        if isinstance(value, View):
            return value.map(lambda _, item: self.shared(item))
        return replace(value, row=-1) if isinstance(value, Value) else value

    # Variables.

    def assign(self, key: tuple, value: object) -> None:
        facts, template = self.facts, self._store(key, value)
        before = facts.bound.get(key, template)
        if before != template and key in self._assigned:
            self.refuse(
                "a variable always holds the same kind of thing, and the same array or function, "
                "because the compiler must know which: use another name."
            )
        facts.changed |= before != template
        facts.bound[key] = template
        self._assigned.add(key)

    def _store(self, key: tuple, value: object) -> object:
        if isinstance(value, tuple):
            return tuple(self._store((*key, i), item) for i, item in enumerate(value))
        if isinstance(value, View):
            return value.map(lambda i, item: self._store((*key, i), item))
        if not isinstance(value, Value):
            return value
        once = key[0].source.webs.definitions.get(key[1]) == 1
        if once and value.constant is not None and value.constant == value.constant:
            return Value(value.type, constant=value.constant)
        variable = self.facts.variables.setdefault(key, Variable())
        if key[1] == "return" and key[0] in self.facts.framed:  # some lanes wait with theirs
            variable.direct, variable.vector = False, True
        self._write(variable, value)
        return variable

    def read(self, key: tuple) -> object:
        if key not in self.facts.bound:
            raise Undefined(self.scope, self.line)
        return self._load(self.facts.bound[key])

    def _load(self, template: object) -> object:
        if isinstance(template, tuple):
            return tuple(map(self._load, template))
        if isinstance(template, View):
            return template.map(lambda _, item: self._load(item))
        if not isinstance(template, Variable):
            return template
        if template not in self._first or not self.block.within(self._first[template]):
            self._strays.add(template)
        return Value(template.type, self._home(template), named=True)

    def _write(self, variable: Variable, value: Value) -> None:
        type = self.unify(variable.type or value.type, value.type)
        if type is None:
            self.refuse(f"this variable holds a {variable.type} elsewhere: use another name.")
        before, after = (
            (variable.type, variable.vector),
            (type, variable.vector or not value.scalar),
        )
        self.facts.changed |= before != after and variable.type is not None
        variable.type, variable.vector = after
        first = self._first.setdefault(variable, self.block)
        if self.block.region is not first.region or not self.block.within(first):
            self._strays.add(variable)
        if self.block.region is not self.root:
            self._unrooted.add(variable)
        value, home = self.convert(value, type), self._home(variable)
        fresh = value.row == len(self.code) - 1 and value.row >= self._fence
        if fresh and (variable.direct or self.code[-1][0] == OP["LD"]):  # LD writes active lanes
            self.code[-1][2] = home
        else:
            name = "COPY" if variable.direct else "MOV"
            self.emit(name, home, value, type=register_type(type))

    def _home(self, variable: Variable) -> int:
        if variable not in self._homes:
            self._homes[variable] = self.new_register(not variable.vector)
        return self._homes[variable]

    def settle(self) -> None:
        """At the end of a pass: which variables were written under a mask and used outside it?"""
        for variable in self._strays & self._unrooted:
            self.facts.changed |= variable.direct
            variable.direct, variable.vector = False, True

    # Regions.

    def push(self, construct: Construct) -> Construct:
        if sum(c.framed for c in self.stack) >= MAX_FRAMES:
            self.refuse(f"more than {MAX_FRAMES} branches and loops within each other: simplify.")
        self.stack.append(construct)
        return construct

    def closing(self) -> Label:
        """Where control goes when no lane is left here."""
        return next((c.closing for c in reversed(self.stack) if c.framed), self.exit)

    def choose(self, test: Value, then: Callable, otherwise: Callable | None = None) -> bool:
        """`if test: then() else: otherwise()`; both say whether control never leaves their end."""
        if test.constant is not None:
            return bool((then if test.constant else otherwise or bool)())
        outer, framed, middle, end = self.block, not test.scalar, Label(), Label()
        construct = self.push(Construct("if", framed, middle if otherwise else end))
        self.emit("IF" if framed else "JZ", test, construct.closing)
        self.block = Block(outer, framed)
        ended = bool(then())
        if otherwise:
            construct.closing = end
            if not framed:
                self.emit("JMP", None, end)
            self.place(middle)
            if framed:
                self.emit("ELSE", None, end)
            self.block = Block(outer, framed)
            ended &= bool(otherwise())
        self.stack.pop()
        self.place(end)
        if framed:
            self.emit("ENDIF", None, self.closing())
        self.block = Block(outer, True) if construct.leaks else outer
        return ended and otherwise is not None
