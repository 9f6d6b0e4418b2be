"""Variables of a kernel: what is assigned to a name, and the register where it lives."""

import ast

from numba_simt.instructions.choices import Choices, as_optional
from numba_simt.instructions.emitter import Facts, Scope, Undefined
from numba_simt.ops import OP, column
from numba_simt.reading.typing_rules import number, unify
from numba_simt.reading.webs import free_names
from numba_simt.values import (
    ARRAYS,
    Choice,
    Closure,
    Compound,
    Object,
    Optional,
    Value,
    Variable,
    View,
    rebuilt,
    register_type,
)

RESULT = column("ADD", "result")  # the same column in every instruction that has one


class Variables(Choices):
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

    def read_name(self, scope: Scope, node: ast.Name | tuple) -> object:
        """What the variable of this name holds here; of (read, name): see Webs."""
        webs = scope.source.webs
        web = webs.seen(node)
        if web is None:
            name = node[1] if isinstance(node, tuple) else node.id
            self.refuse(f"`{name}` is read before anything is assigned to it.")
        divided = (scope, web) in self.facts.divided
        return self.read_variable((scope, webs.part_seen(node) if divided else web))

    def assign(self, key: tuple, value: object) -> None:
        """The value, or a tuple's or view's numbers, into the variables of this key."""
        template = self._store(key, value)
        if self._assigned is None:  # no thread comes here: its type counts, and no more
            self.facts.bound.setdefault(key, template)
            return
        before = self.facts.bound.get(key, template)
        known = len(self.facts.optional)
        if before != template and key in self._assigned and not self._joined(key, before, template):
            self.refuse(
                "a variable always holds the same kind of thing, and the same array or function, "
                "because the compiler must know which: use another name."
            )
        if len(self.facts.optional) > known:  # learned in this assignment
            template = self._store(key, value)
        self.facts.changed |= before != template
        self.facts.bound[key] = template
        self._assigned.add(key)

    def _store(self, key: tuple, value: object) -> object:
        """Writes the numbers in `value`; returns it with variables in their places."""
        if key in self.facts.optional:
            return self._store_optional(key, value)
        if isinstance(value, tuple):
            return rebuilt(value, (self._store((*key, i), item) for i, item in enumerate(value)))
        if isinstance(value, Choice) or (isinstance(value, View) and key in self.facts.forms):
            return self._store_choice(key, value)
        if isinstance(value, Compound):
            return value.map(lambda i, item: self._store((*key, i), item))
        if isinstance(value, Closure) and value.read is not None:
            self.escaping(value)
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

    def _store_optional(self, key: tuple, value: object) -> object:
        """Writes whether it is a number, and the number if it is one."""
        if not (isinstance(value, Value | Optional) or value == Object(None)):
            self.refuse(f"this variable holds a number or None, and no {self.describe(value)}.")
        given = as_optional(value)
        present = self._store((*key, "present"), given.present)
        if given.number is not None:
            return Optional(present, self._store((*key, "number"), given.number))
        return Optional(present, self.facts.variables[*key, "number"])

    def escaping(self, closure: Closure) -> None:
        """Refuses a function that is given away with variables in it, as Numba does."""
        scope = closure.scope
        for name in sorted(free_names(closure.tree) & scope.source.webs.names):
            value = self.read_name(scope, (closure.read, name))
            constant = getattr(value, "constant", None) is not None
            if not constant and not isinstance(value, Object | Closure):
                self.refuse(
                    f"Numba cannot capture the non-constant value of `{name}` in a function that "
                    "is given away: make it a parameter, or call the function by its name."
                )

    def _joined(self, key: tuple, before: object, now: object) -> bool:
        """Whether a variable may hold both; of arrays it then holds one of several."""
        if before == now:
            return True
        if isinstance(before, tuple) and isinstance(now, tuple) and len(before) == len(now):
            pairs = enumerate(zip(before, now, strict=True))
            return all([self._joined((*key, i), *pair) for i, pair in pairs])
        if self._number_or_none(key, before, now):
            return True
        if not (isinstance(before, ARRAYS) and isinstance(now, ARRAYS)):
            return False
        self.alike(before, now)
        self.facts.forms.setdefault(key, {})
        return True

    def _number_or_none(self, key: tuple, before: object, now: object) -> bool:
        """Whether the variable holds a number here and None there: from now on it may hold both."""
        numbers = [one for one in (before, now) if isinstance(one, Variable | Optional)]
        both = isinstance(before, Optional) or isinstance(now, Optional) or len(numbers) == 1
        others = [one for one in (before, now) if one not in numbers]
        if not both or any(one != Object(None) for one in others):
            return False
        scope, web, *_ = key
        if not self.scope.hidden and scope.source.webs.changes_in_a_loop(web):
            self.limit(
                "a variable that is a number or None gets no value in a loop here: use a number "
                "that means none, such as -1."
            )
        if key not in self.facts.optional:
            self.facts.optional.add(key)
            self.facts.changed = True
            for one in numbers:
                number = one.number if isinstance(one, Optional) else one
                self.facts.variables[*key, "number"].type = number.type
        return True

    def _store_choice(self, key: tuple, value: View | Choice) -> Choice:
        """Writes which of the arrays it is, and the numbers of each."""
        views = value.views if isinstance(value, Choice) else (value,)
        known = self.facts.forms.setdefault(key, {})
        places = []
        for view in views:
            places.append(list(known).index(view.form) if view.form in known else len(known))
            known[view.form] = view.map(
                lambda i, item, at=view: self._store((*key, at.form, i), item)
            )
        chosen = isinstance(value, Choice)
        which = self.renumbered(value.which, places) if chosen else number(places[0])
        return Choice(self._store((*key, "which"), which), tuple(known.values()))

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
            return rebuilt(template, map(self._load, template))
        if isinstance(template, Compound):
            return template.map(lambda _, item: self._load(item))
        if not isinstance(template, Variable):
            return template
        return Value(template.type, self._home(template), named=True)

    def _home(self, variable: Variable) -> int:
        if variable not in self._homes:
            self._homes[variable] = self.new_register(scalar=not variable.vector)
        return self._homes[variable]
