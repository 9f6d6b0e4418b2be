"""A number together with the sum that gives it: the printed formula cannot say another number.

    weights = reckon("B", "parameters x bytes of each", "8030261248 * 2")
    weights.value                  # 16060522496.0
    weights.quantity               # 16.1 GB (predicted by parameters x bytes of each)
    str(weights)                   # "parameters x bytes of each = 8030261248 * 2 = 16.1 GB"

Lesson choosing_hardware.
"""

import ast
import operator
from dataclasses import dataclass

from labkit.provenance import Quantity, predicted

_OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True)
class Reckoned:
    """What came out, its unit, the formula in words, and the same formula in figures."""

    value: float
    unit: str
    words: str
    figures: str

    @property
    def quantity(self) -> Quantity:
        """The number for a table: predicted, by the formula in words."""
        return predicted(self.value, self.unit, self.words)

    def __str__(self) -> str:
        return f"{self.words} = {self.figures} = {self.quantity.number}"


def shown(number: float) -> str:
    """The number as figures of a sum have it: 9.894e+14, and nothing lost."""
    short = f"{number:.15g}"
    return short if float(short) == number else repr(float(number))


def reckon(unit: str, words: str, figures: str) -> Reckoned:
    """Evaluates `figures`: numbers with + - * / and max(), as "max(4 / 2, 3 * 1.5)".

    Raises ValueError for anything else.
    """
    tree = ast.parse(figures, mode="eval")
    return Reckoned(float(_evaluate(tree.body, figures)), unit, words, figures)


def _evaluate(node: ast.expr, figures: str) -> float:
    """The value of one part of the sum."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left = _evaluate(node.left, figures)
        right = _evaluate(node.right, figures)
        return _OPERATIONS[type(node.op)](left, right)
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "max" and node.args:
        return max(_evaluate(argument, figures) for argument in node.args)
    raise ValueError(f"A reckoning has numbers, + - * / and max(); this one is {figures!r}.")
