"""The arguments of a launch: numbers, arrays of the host, arrays in device memory."""

from functools import cache

import numpy as np

from numba_simt.errors import UsageError
from numba_simt.launching import arrays
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
    if not hasattr(value, "__array__"):
        kind = type(value).__name__
        takes = "a kernel takes numbers, NumPy and device arrays, and tuples of them"
        raise UsageError(f"{what} is a {kind}; {takes}.")
    if arrays.is_cuda_array(value):
        return Argument(array_type(value.memory), value.memory)
    array = arrays.host_array(what, value)
    if array.size and not np.may_share_memory(array, arrays.host_array(what, value)):
        raise UsageError(f"{what} gives NumPy copies: what the kernel writes would be lost.")
    return Argument(array_type(array), array, host=True)


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
