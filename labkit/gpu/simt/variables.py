"""Variables, and the regions of code that the same lanes run."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from labkit.gpu.simt.emitter import Emitter, Facts, Label, Scope, Undefined
from labkit.gpu.simt.ops import OP, column
from labkit.gpu.simt.values import Value, Variable, View, register_type

RESULT = column("ADD", "result")  # the same column in every instruction that has one
MAX_FRAMES = 60  # the machine has room for 64


@dataclass(eq=False)
class Construct:
    """An `if`, loop or inlined call around the current place."""

    kind: str  # "if", "loop", "else" (of a loop), "call"
    framed: bool  # it has a mask frame
    closing: Label  # where control goes when the frame's mask is empty
    region: object = None
    key: object = None
    end: Label | None = None  # behind it: where `break` and `return` jump without a frame
    broken: bool = False  # it has a `break`
    returns: bool = False  # it has a `return`


class Variables(Emitter):
    def __init__(self, facts: Facts, scope: Scope) -> None:
        super().__init__(facts, scope)
        self.stack: list[Construct] = []
        self.exit = Label()
        # A region is a piece of code that the same lanes run; all lanes run the root.
        self.root = self.region = object()
        self._homes: dict[Variable, int] = {}
        self._assigned = set()

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
        """Writes the numbers in `value`; returns it with variables in their places."""
        if isinstance(value, tuple):
            return tuple(self._store((*key, i), item) for i, item in enumerate(value))
        if isinstance(value, View):
            return value.map(lambda i, item: self._store((*key, i), item))
        if not isinstance(value, Value):
            return value
        once = key[0].source.webs.definitions.get(key[1]) == 1
        if once and value.constant is not None and value.constant == value.constant:
            return Value(value.type, constant=value.constant)
        variable = self.facts.variables[key]
        self._write(variable, value)
        return variable

    def _write(self, variable: Variable, value: Value) -> None:
        kind, before = variable.type or value.type, (variable.type, variable.vector)
        masked = self.region is not self.root
        if (joined := self.unify(kind, value.type)) is None:
            self.refuse(f"this variable holds a {kind} elsewhere: use another name.")
        variable.type = joined
        variable.vector |= masked or not value.scalar
        self.facts.changed |= before not in ((None, False), (joined, variable.vector))
        value, home = self.convert(value, joined), self._home(variable)
        fresh = value.register is not None and value.register == self.fresh
        if fresh and (not masked or self.code[-1][0] == OP["LD"]):  # LD writes active lanes
            self.code[-1][RESULT], self.fresh = home, None
        else:
            self.emit("MOV" if masked else "COPY", home, value, type=register_type(joined))

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
        return Value(template.type, self._home(template), named=True)

    def _home(self, variable: Variable) -> int:
        if variable not in self._homes:
            self._homes[variable] = self.new_register(not variable.vector)
        return self._homes[variable]

    def body(self, statements: list[ast.stmt]) -> bool:
        """Does control never come out at the end?  Dead code is left out."""
        return any(self._statement(node) for node in statements)

    def _statement(self, node: ast.stmt) -> bool:
        used, state, depth = dict(self.used), (self.scope, self.region, self.line), len(self.stack)
        try:
            return bool(self.compile(node))
        except Undefined as undefined:
            self.facts.undefined, (self.scope, self.region, self.line) = undefined, state
            del self.stack[depth:]
            return False
        finally:
            self.used = used

    def push(self, construct: Construct) -> Construct:
        if sum(c.framed for c in self.stack) >= MAX_FRAMES:
            self.refuse(f"more than {MAX_FRAMES} branches and loops within each other: simplify.")
        self.stack.append(construct)
        return construct

    def enter(self, kind: str, key: object) -> Construct:
        """Opens a loop, or an inlined call, which is a loop that runs once."""
        framed, end = key in self.facts.framed, Label()
        region = object() if framed else self.region
        closing = Label() if kind == "loop" else end
        construct = self.push(Construct(kind, framed, closing, region, key, end))
        if framed:
            self.emit("LOOP")
        return construct

    def leave(self, construct: Construct) -> None:
        self.stack.pop()
        self.place(construct.end)
        if construct.framed:
            self.emit("ENDLOOP", None, self.closing())

    def closing(self) -> Label:
        """Where control goes when no lane is left here."""
        return next((c.closing for c in reversed(self.stack) if c.framed), self.exit)

    def choose(self, test: Value, then: Callable, otherwise: Callable | None = None) -> bool:
        """`if test: then() else: otherwise()`; both say whether control never leaves their end."""
        if test.constant is not None:
            return bool((then if test.constant else otherwise or bool)())
        outer, framed, middle, end = self.region, not test.scalar, Label(), Label()
        construct = self.push(Construct("if", framed, middle if otherwise else end))
        self.emit("IF" if framed else "JZ", test, construct.closing)
        self.region = object() if framed else outer
        ended = bool(then())
        if otherwise:
            construct.closing = end
            if not framed:
                self.emit("JMP", None, end)
            self.place(middle)
            if framed:
                self.emit("ELSE", None, end)
            self.region = object() if framed else outer
            ended &= bool(otherwise())
        self.stack.pop()
        self.place(end)
        if framed:
            self.emit("ENDIF", None, self.closing())
        self.region = outer
        return ended and otherwise is not None
