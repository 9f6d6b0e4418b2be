"""What a kernel does with a number that may be None: it is one, or the thread ends."""

from numba import types

from numba_simt.instructions.control import Control
from numba_simt.values import Optional, Value, rebuilt


class Optionals(Control):
    """As Numba casts an optional number to a number: with a TypeError where it is None."""

    def certain(self, value: object) -> object:
        """The number; a thread that has None ends. Whatever is no optional number, as it is."""
        if isinstance(value, tuple) and any(isinstance(item, Optional) for item in value):
            return rebuilt(value, map(self.certain, value))
        if not isinstance(value, Optional):
            return value
        said = f"expected {value.number.type}, got None"
        self.throw_if(self.invert(value.present), TypeError, said)
        return value.number

    def truth(self, value: object) -> Value:
        """bool(value), which Numba knows of an optional bool, and not of other optional numbers."""
        if isinstance(value, Optional) and isinstance(value.number.type, types.Boolean):
            value = self.certain(value)
        return super().truth(value)

    def operate(self, node: type, *operands: object) -> Value:
        """An operator of Python."""
        return super().operate(node, *map(self.certain, operands))
