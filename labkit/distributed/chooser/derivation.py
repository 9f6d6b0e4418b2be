"""A number together with the sum that gives it: the printed formula cannot say another number.

    weights = derive("B", "parameters x bytes of each", number(8_030_261_248) * 2)
    weights.value                  # 16060522496
    weights.figures                # "8030261248 * 2": exactly, for programs
    str(weights)                   # "parameters x bytes of each = 8,030,261,248 x 2 = 16.1 GB"

A sum is data: numbers joined by + - * / and `largest`. Lesson choosing_hardware.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property, reduce

from labkit.provenance import Quantity, predicted, rounded

OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "max": max,
}
BINDS = {"+": 1, "-": 1, "*": 2, "/": 2}  # the higher one first; a number or a max() before both
FREE = ("+", "*")  # a + (b + c) needs no brackets


@dataclass(frozen=True)
class Sum:
    """`terms` joined by `operation`; a number alone has none. Made by `number` and + - * /."""

    operation: str
    terms: tuple
    unit: str = ""

    @cached_property
    def value(self) -> float:
        """What comes out."""
        if not self.operation:
            return self.terms[0]
        return reduce(OPERATIONS[self.operation], [term.value for term in self.terms])

    @property
    def figures(self) -> str:
        """All digits, as Python and JSON read them: "8030261248 * 2"."""
        return self._written(lambda one: shown(one.terms[0]), " * ")

    @property
    def text(self) -> str:
        """As people write it: "8,030,261,248 x 2", "11.8 ms + 149 µs"."""
        return self._written(lambda one: _text(one.terms[0], one.unit), " x ")

    def _written(self, of_number, times: str) -> str:
        if not self.operation:
            return of_number(self)
        parts = [term._written(of_number, times) for term in self.terms]
        if self.operation == "max":
            return f"max({', '.join(parts)})"
        for place, term in enumerate(self.terms):
            if self._in_brackets(place, term):
                parts[place] = f"({parts[place]})"
        return (times if self.operation == "*" else f" {self.operation} ").join(parts)

    def _in_brackets(self, place: int, term: Sum) -> bool:
        here, there = BINDS[self.operation], BINDS.get(term.operation, 3)
        same = term.operation == self.operation and self.operation in FREE
        return there < here or (place > 0 and there == here and not same)

    def __add__(self, other: Term) -> Sum:
        return Sum("+", (self, number(other)))

    def __sub__(self, other: Term) -> Sum:
        return Sum("-", (self, number(other)))

    def __mul__(self, other: Term) -> Sum:
        return Sum("*", (self, number(other)))

    def __truediv__(self, other: Term) -> Sum:
        return Sum("/", (self, number(other)))


@dataclass(frozen=True)
class Derived:
    """A sum with its unit, and its formula in words."""

    unit: str
    words: str
    sum: Sum

    @property
    def value(self) -> float:
        """What comes out."""
        return float(self.sum.value)

    @property
    def figures(self) -> str:
        """The formula in figures, with all digits."""
        return self.sum.figures

    @property
    def number(self) -> Sum:
        """The result, as one number of another sum."""
        return number(self.value, self.unit)

    @property
    def quantity(self) -> Quantity:
        """The number for a table: predicted, by the formula in words."""
        return predicted(self.value, self.unit, self.words)

    def __str__(self) -> str:
        return f"{self.words} = {self.sum.text} = {_text(self.value, self.unit)}"


Term = Sum | Derived | float


def number(value: Term, unit: str = "") -> Sum:
    """A number of a sum; a sum stays what it is, and of what is derived its sum is taken."""
    if isinstance(value, Derived):
        return value.sum
    return value if isinstance(value, Sum) else Sum("", (value,), unit)


def total(terms: list[Term]) -> Sum:
    """All of them added up."""
    return reduce(operator.add, [number(term) for term in terms])


def largest(*terms: Term) -> Sum:
    """The largest of them."""
    return Sum("max", tuple(number(term) for term in terms))


def derive(unit: str, words: str, term: Term) -> Derived:
    """A number with its unit and its formula in words."""
    return Derived(unit, words, number(term))


def shown(value: float) -> str:
    """The number as figures of a sum have it: 9.894e+14, and nothing lost."""
    short = f"{value:.15g}"
    return short if float(short) == value else repr(float(value))


def _text(value: float, unit: str) -> str:
    """Three digits and a unit that people read; whole numbers with all digits."""
    if not unit:
        return f"{value:,}" if isinstance(value, int) else rounded(value)
    return predicted(value, unit, "a sum").number
