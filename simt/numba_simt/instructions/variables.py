"""Variables of a kernel: what is assigned to a name, and the register where it lives."""

import ast

from numba_simt.instructions.arithmetic import Arithmetic
from numba_simt.instructions.emitter import Facts, Scope, Undefined
from numba_simt.ops import OP, column
from numba_simt.reading.typing_rules import unify
from numba_simt.values import Value, Variable, Vector, View, register_type

RESULT = column("ADD", "result")  # the same column in every instruction that has one


class Variables(Arithmetic):
    """Assigns and reads by keys (scope, web, ...); knows under which mask an assignment stands."""

    def __init__(self, facts: Facts, scope: Scope) -> None:
        super().__init__(facts, scope)
        # A region is a piece of code that the same lanes run; all lanes run the root.
        self.root = object()
        self.region = self.root
        self._homes: dict[Variable, int] = {}
        self._assigned: set | None = set()  # keys; None: see `typed_only`

    def assign_name(self, scope: Scope, node: ast.AST, value: object) -> None:
        """The value into the variable that a name, or a parameter, stands for in its scope.

        As in Numba, one that may be of several assignments has the type that can hold them all, and
        where only one of them is seen, it has that one's.
        """
        webs = scope.source.webs
        keys = [(scope, webs.written(node))]
        if keys[0] in self.facts.divided:
            keys = [(scope, part) for part in webs.parts_written(node)]
            self.fresh = None  # none of them may take over the register
        for key in keys:
            self.assign(key, value)

    def read_name(self, scope: Scope, node: ast.Name) -> object:
        """What the variable of this name holds here."""
        webs = scope.source.webs
        web = webs.seen(node)
        if web is None:
            self.refuse(f"`{node.id}` is read before anything is assigned to it.")
        divided = (scope, web) in self.facts.divided
        return self.read_variable((scope, webs.part_seen(node) if divided else web))

    def assign(self, key: tuple, value: object) -> None:
        """The value, or a tuple's or view's numbers, into the variables of this key."""
        template = self._store(key, value)
        if self._assigned is None:  # no thread comes here: its type counts, and no more
            self.facts.bound.setdefault(key, template)
            return
        before = self.facts.bound.get(key, template)
        if before != template and key in self._assigned:
            self.refuse(
                "a variable always holds the same kind of thing, and the same array or function, "
                "because the compiler must know which: use another name."
            )
        self.facts.changed |= before != template
        self.facts.bound[key] = template
        self._assigned.add(key)

    def _store(self, key: tuple, value: object) -> object:
        """Writes the numbers in `value`; returns it with variables in their places."""
        if isinstance(value, tuple):
            return tuple(self._store((*key, i), item) for i, item in enumerate(value))
        if isinstance(value, View | Vector):
            return value.map(lambda i, item: self._store((*key, i), item))
        if not isinstance(value, Value):
            return value
        scope, web, *_ = key
        once = scope.source.webs.definitions.get(web) == 1
        if once and value.constant is not None and value.constant == value.constant:  # no NaN
            return Value(value.type, constant=value.constant)
        variable = self.facts.variables[key]
        if variable.type not in (None, value.type) and scope.source.webs.divisible(web):
            self.facts.divide((scope, web))
        self._write(variable, value)
        return variable

    def _write(self, variable: Variable, value: Value) -> None:
        """The number into the variable's register, and its type into what is known of it."""
        masked = self.region is not self.root
        kind = self._widen(variable, value, masked)
        value = self.convert(value, kind)
        home = self._home(variable)
        fresh = value.register is not None and value.register == self.fresh
        if fresh and (not masked or self.code[-1][0] == OP["LD"]):  # LD writes active lanes
            self.code[-1][RESULT] = home
            self.fresh = None
        else:
            self.emit("MOV" if masked else "COPY", home, value, type=register_type(kind))

    def _widen(self, variable: Variable, value: Value, masked: bool) -> object:
        """The variable's type, when it holds this number too."""
        held = variable.type or value.type
        joined = unify(held, value.type)
        if joined is None:
            self.refuse(f"this variable holds a {held} elsewhere: use another name.")
        vector = variable.vector or masked or not value.scalar
        first = variable.type is None and not variable.vector
        if not first and (variable.type, variable.vector) != (joined, vector):
            self.facts.changed = True
        variable.type = joined
        variable.vector = vector
        return joined

    def read_variable(self, key: tuple) -> object:
        """What was assigned to the key; raises Undefined where this pass knows of nothing."""
        if key not in self.facts.bound:
            raise Undefined(self.scope, self.line)
        return self._load(self.facts.bound[key])

    def _load(self, template: object) -> object:
        if isinstance(template, tuple):
            return tuple(map(self._load, template))
        if isinstance(template, View | Vector):
            return template.map(lambda _, item: self._load(item))
        if not isinstance(template, Variable):
            return template
        return Value(template.type, self._home(template), named=True)

    def _home(self, variable: Variable) -> int:
        if variable not in self._homes:
            self._homes[variable] = self.new_register(scalar=not variable.vector)
        return self._homes[variable]
