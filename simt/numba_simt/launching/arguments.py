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
        raise UsageError(f"{what} is a {kind}; a kernel takes numbers, NumPy and device arrays.")
    host = not arrays.is_cuda_array(value)
    array = shared_array(what, value) if host else value.memory
    if array.dtype.names and not array.flags.c_contiguous:
        raise UsageError(f"{what} is every other state or so of an array: copy it first.")
    return Argument(array_type(array), array, host=host)


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


def array_type(array: np.ndarray) -> object:
    """Numba's type of an array."""
    flags = array.flags
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    return _array_type(array.dtype, array.ndim, layout)


@cache
def _array_type(dtype: np.dtype, ndim: int, layout: str) -> object:
    from numba import types

    return types.Array(_number_type(dtype), ndim, layout)


@cache
def _number_type(dtype: np.dtype) -> object:
    from numba.np.numpy_support import from_dtype

    return from_dtype(dtype)
