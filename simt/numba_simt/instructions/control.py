"""Control flow of a kernel: branches, loops and inlined calls, and the masks of lanes in them."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from numba_simt.instructions.emitter import Facts, Label, Scope, Undefined
from numba_simt.instructions.variables import Variables
from numba_simt.program import Raised
from numba_simt.values import Value

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


class Control(Variables):
    """Opens and closes constructs; a frame is there only if lanes part in it."""

    def __init__(self, facts: Facts, scope: Scope) -> None:
        super().__init__(facts, scope)
        self.stack: list[Construct] = []
        self.exit = Label()

    def typed_only(self, side: Callable) -> object:
        """What no thread comes to, but Numba types all the same: compiled, and not emitted."""
        code = len(self.code)
        lines = dict(self.lines)
        assigned = self._assigned
        self._assigned = None
        found = side()
        self._assigned = assigned
        self.lines = lines
        self.fresh = None
        del self.code[code:]
        return found

    def body(self, statements: list[ast.stmt]) -> bool:
        """Does control never come out at the end?  Dead code is left out."""
        return any(self._statement(node) for node in statements)

    def _statement(self, node: ast.stmt) -> bool:
        """One statement; where it reads what is not known yet, the next pass compiles it."""
        used = dict(self.used)
        scope = self.scope
        region = self.region
        line = self.line
        at = self.at
        depth = len(self.stack)
        try:
            return bool(self.compile(node))
        except Undefined as undefined:
            self.facts.undefined = undefined
            self.scope = scope
            self.region = region
            self.line = line
            self.at = at
            del self.stack[depth:]
            return isinstance(node, ast.Return)
        finally:
            self.used = used

    def push(self, construct: Construct) -> Construct:
        """Opens a construct; too many within each other are refused."""
        if sum(c.framed for c in self.stack) >= MAX_FRAMES:
            self.refuse(f"more than {MAX_FRAMES} branches and loops within each other: simplify.")
        self.stack.append(construct)
        return construct

    def enter(self, kind: str, key: object) -> Construct:
        """Opens a loop, or an inlined call, which is a loop that runs once."""
        framed = key in self.facts.framed
        end = Label()
        region = object() if framed else self.region
        closing = Label() if kind == "loop" else end
        construct = self.push(Construct(kind, framed, closing, region, key, end))
        if framed:
            self.emit("LOOP")
        return construct

    def leave(self, construct: Construct) -> None:
        """Closes a loop or an inlined call."""
        self.stack.pop()
        self.place(construct.end)
        if construct.framed:
            self.emit("ENDLOOP", None, self.closing())

    def closing(self) -> Label:
        """Where control goes when no lane is left here."""
        for construct in reversed(self.stack):
            if construct.framed:
                return construct.closing
        return self.exit

    def choose(self, test: Value, then: Callable, otherwise: Callable | None = None) -> bool:
        """`if test: then() else: otherwise()`; both say whether control never leaves their end."""
        if test.constant is not None:
            side = then if test.constant else otherwise
            return bool(side()) if side else False
        outer = self.region
        framed = not test.scalar
        middle = Label()
        end = Label()
        construct = self.push(Construct("if", framed, middle if otherwise else end))
        self.emit("IF" if framed else "JZ", test, construct.closing)
        self.region = object() if framed else outer
        ended = bool(then())
        if otherwise:
            construct.closing = end
            self._begin_else(framed, middle, end)
            self.region = object() if framed else outer
            ended &= bool(otherwise())
        self.stack.pop()
        self.place(end)
        if framed:
            self.emit("ENDIF", None, self.closing())
        self.region = outer
        return ended and otherwise is not None

    def _begin_else(self, framed: bool, middle: Label, end: Label) -> None:
        if not framed:
            self.emit("JMP", None, end)
        self.place(middle)
        if framed:
            self.emit("ELSE", None, end)

    def throw(self, error: type, *arguments: object, stops: bool = False) -> bool:
        """raise error(*arguments): ends the threads that come here, without a word.

        Under debug=True, and if `stops`, it stops the kernel, and the launch raises the error.
        """
        self.exceptions.append(Raised(error, arguments))
        number = len(self.exceptions) - 1
        self.emit("RAISE", None, self.closing(), number, int(stops or self.facts.debug))
        return True

    def throw_if(self, test: Value, error: type, *arguments: object) -> None:
        """`if test: raise error(*arguments)`"""
        self.choose(test, lambda: self.throw(error, *arguments))

    def need_frame(self, construct: Construct) -> None:
        """Lanes leave or skip it here: it needs a frame if they are not all that are in it."""
        if self.region is not construct.region:
            self.facts.frame(construct.key)

    def leave_early(self, at: int) -> None:
        """Takes the lanes out of the loop or inlined call that is stack[at]: break, return."""
        construct = self.stack[at]
        self.need_frame(construct)
        if construct.framed:
            frames = sum(c.framed and c.kind != "if" for c in self.stack[at:])
            self.emit("BREAK", frames, self.closing())
        else:
            self.emit("JMP", None, construct.end)
