"""The arguments of a launch: numbers, arrays of the host, arrays in device memory."""

from functools import cache

import numpy as np

from numba_simt.errors import UsageError
from numba_simt.launching import arrays
from numba_simt.launching.interfaces import as_cuda_array, shared_array
from numba_simt.reading.signatures import Argument


def read_argument(name: str, value: object) -> Argument:
    """A number as Python's, an array as NumPy's; UsageError for what a kernel cannot take.

    No array is copied here: an array of the host gets its copy where the launch's memory is laid
    out.
    """
    what = f"argument `{name}`"
    if isinstance(value, tuple):
        return _tuple_argument(name, value)
    if isinstance(value, np.void) and value.dtype.names:
        record = np.asarray(value)  # the record's own memory
        return Argument(_number_type(arrays.number_dtype(what, record.dtype)), record, host=True)
    if isinstance(value, bool | int | float | complex | np.generic):
        number = np.asarray(value)
        dtype = arrays.number_dtype(what, number.dtype)
        return Argument(_number_type(dtype), number.item())
    if isinstance(value, In):
        return value.as_argument(what)
    if not hasattr(value, "__array__"):
        if hasattr(value, "__cuda_array_interface__"):
            memory = as_cuda_array(value).memory
            return Argument(array_type(memory), memory)
        kind = type(value).__name__
        takes = "a kernel takes numbers, NumPy and device arrays, and tuples of them"
        raise UsageError(f"{what} is a {kind}; {takes}.")
    if arrays.is_cuda_array(value):
        return Argument(array_type(value.memory), value.memory)
    array = shared_array(what, value)
    return Argument(array_type(array), array, host=True)


class In:
    """An argument that the kernel reads: what it writes into it does not come back."""

    def __init__(self, value: object) -> None:
        self.value = value

    def as_argument(self, what: str) -> Argument:
        """A device array, that of a host array if there is none."""
        if arrays.is_cuda_array(self.value):
            return Argument(array_type(self.value.memory), self.value.memory)
        memory = self._on_the_device(arrays.host_array(what, self.value))
        return Argument(array_type(memory), memory, back=self._host(what))

    def _on_the_device(self, array: np.ndarray) -> np.ndarray:
        """What the kernel finds."""
        return array.copy(order="K")

    def _host(self, what: str) -> np.ndarray | None:
        """The array that gets the memory after the launch."""
        return None


class InOut(In):
    """An argument that the kernel reads and writes, as one without a wrapper."""

    def _host(self, what: str) -> np.ndarray:
        return shared_array(what, self.value)


class Out(InOut):
    """An argument that the kernel writes: what the array held, it does not see."""

    def _on_the_device(self, array: np.ndarray) -> np.ndarray:
        return arrays.device_array_like(array).memory


def _tuple_argument(name: str, values: tuple) -> Argument:
    """A tuple, which may be a named one, of what kernels take."""
    from numba import types

    items = tuple(read_argument(f"{name}[{i}]", item) for i, item in enumerate(values))
    named = type(values) if hasattr(values, "_fields") else None
    return Argument(types.BaseTuple.from_types([item.type for item in items], named), items)


def array_type(array: np.ndarray) -> object:
    """Numba's type of an array."""
    flags = array.flags
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    return _array_type(array.dtype, array.dtype.isalignedstruct, array.ndim, layout)


@cache
def _array_type(dtype: np.dtype, aligned: bool, ndim: int, layout: str) -> object:
    """`aligned`: of two equal dtypes of records only one may be, and Numba tells them apart."""
    from numba import types

    return types.Array(_element_type(dtype, aligned), ndim, layout)


def _number_type(dtype: np.dtype) -> object:
    return _element_type(dtype, dtype.isalignedstruct)


@cache
def _element_type(dtype: np.dtype, aligned: bool) -> object:
    from numba.np.numpy_support import from_dtype

    return from_dtype(dtype)
