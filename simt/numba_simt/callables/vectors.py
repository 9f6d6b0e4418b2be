"""CUDA's vector types (float32x4 and the like), and loads and stores with a hint for the cache."""

from numba import types

from numba_simt.callables.printing import Printing
from numba_simt.in_kernel import VECTORS
from numba_simt.values import Object, Value, Vector, View

CACHED_LOADS = ("ldca", "ldcg", "ldcs", "ldcv", "ldlu")
CACHED_STORES = ("stcg", "stcs", "stwb", "stwt")


class Vectors(Printing):
    """Compiles vectors, each part of which is a number of its own; the machine has no cache."""

    def vector(self, name: str, *given: object) -> Vector:
        """cuda.float32x4(x, y, z, w), of numbers or shorter vectors of the same elements."""
        element, count = VECTORS[name]
        parts = []
        for one in given:
            if isinstance(one, Vector) and VECTORS[one.name][0] == element:
                parts += one.parts
            elif isinstance(one, Value) and not isinstance(one.type, types.Complex):
                parts.append(self.convert(one, getattr(types, element)))
            else:
                self.refuse(f"a {name} is made of {element}s, not of {self.describe(one)}.")
        if len(parts) != count:
            self.refuse(f"a {name} is made of {count} numbers, not of {len(parts)}.")
        held = tuple(map(self.hold, parts))
        return Vector(f"{element}x{count}", held)

    def cached_load(self, name: str, array: View, index: object) -> Value:
        """cuda.ldcg(array, index) and the like"""
        return self.load(self._cached(name, array, index))

    def cached_store(self, name: str, array: View, index: object, value: Value) -> Object:
        """cuda.stcg(array, index, value) and the like"""
        self.store(self._cached(name, array, index), value)
        return Object(None)

    def _cached(self, name: str, array: View, index: object) -> View:
        """The element, of those that Numba takes here."""
        if not isinstance(array, View) or not isinstance(array.dtype, types.Integer | types.Float):
            self.refuse(
                f"cuda.{name} takes an array of integers or floats, not {self.describe(array)}."
            )
        items = list(index) if isinstance(index, tuple) else [index]
        if len(items) != len(array.axes):
            self.refuse(f"cuda.{name} takes {len(array.axes)} indices here, not {len(items)}.")
        return self.select(array, items)
