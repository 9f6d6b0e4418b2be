"""Device memory. The host reaches it through copies only, as on a GPU with memory of its own.

A `DeviceArray` does what Numba's DeviceNDArray does: slices are views of the same memory, element
reads copy back, arithmetic there is none. Memory that nobody wrote holds NaN, or all bits set.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NoReturn

import numpy as np

from numba_simt.errors import BackwardsError, Missing, UsageError

NUMBERS = frozenset(map(np.dtype, "?bhilqBHILQefdFD"))  # in the processor's own byte order
_PROPERTIES = ("shape", "strides", "dtype", "ndim", "size", "nbytes", "flags")
_VIEWS = ("reshape", "ravel", "squeeze", "view")  # methods that give a view of the same memory


def number_dtype(what: str, dtype: np.dtype | type | str) -> np.dtype:
    """`dtype` as a NumPy dtype, when device memory holds such numbers."""
    dtype = np.dtype(dtype)
    if dtype not in NUMBERS and not _is_record(dtype):
        raise UsageError(
            f"{what} holds {dtype}, which a kernel cannot use: it takes bool, int8 to uint64, "
            "float16 to float64, complex64 and complex128, in native byte order, and records."
        )
    return dtype


def _is_record(dtype: np.dtype) -> bool:
    """Whether it is a structured dtype, whose fields the kernel's compiler judges one by one."""
    return bool(dtype.names) and not dtype.hasobject


def host_array(what: str, value: object) -> np.ndarray:
    """The numbers of an ndarray, a CPU tensor or anything NumPy reads, without gaps."""
    if isinstance(value, np.ma.MaskedArray):
        raise UsageError(f"{what} is a masked array, and a kernel would not see the mask.")
    if hasattr(value, "detach"):  # a tensor that requires a gradient gives no array otherwise
        value = value.detach()
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(f"{what} is no array of numbers: {error}") from error
    number_dtype(what, array.dtype)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise UsageError(
            f"{what} is not contiguous: its shape is {array.shape}, its strides are "
            f"{array.strides} B. A copy moves one region of memory: use np.ascontiguousarray."
        )
    return array


class DeviceArray:
    """An array in device memory; `memory` is the NumPy array that stands for it."""

    def __init__(self, memory: np.ndarray) -> None:
        number_dtype("The device array", memory.dtype)
        self.memory = memory

    def __getattr__(self, name: str) -> object:
        if name in _PROPERTIES:
            return getattr(self.memory, name)
        if name in _VIEWS:
            return partial(self._view, name)
        raise Missing(f"A device array has no {name!r}: use copy_to_host(), then NumPy.")

    def _view(self, name: str, *arguments: object, stream: object = 0, **named: object):
        """What NumPy's method of that name gives, as long as it is the same memory."""
        found = getattr(self.memory, name)(*arguments, **named)
        if isinstance(found, np.generic):
            return found
        if found.size and not np.may_share_memory(found, self.memory):
            raise UsageError(f"{name}{arguments} of {self} would need a copy.")
        return DeviceArray(found)

    @property
    def alloc_size(self) -> int:
        """Bytes from its first to its last element."""
        if not self.size:
            return 0
        steps = (abs(stride) * (n - 1) for n, stride in zip(self.shape, self.strides, strict=True))
        return self.dtype.itemsize + sum(steps)

    def is_c_contiguous(self) -> bool:
        """Whether rows lie one after the other."""
        return self.flags.c_contiguous

    def is_f_contiguous(self) -> bool:
        """Whether columns lie one after the other."""
        return self.flags.f_contiguous

    def copy_to_host(self, ary: np.ndarray | None = None, stream: object = 0) -> np.ndarray:
        """A new host array, or `ary` filled: of the same dtype, shape and order."""
        if any(stride < 0 for stride in self.strides):
            raise BackwardsError(f"{self} runs backwards, and a copy moves memory forwards only.")
        if ary is None:
            return self.memory.copy(order="K")
        self._match(ary)
        np.copyto(ary, self.memory.reshape(ary.shape))
        return ary

    def copy_to_device(self, ary: object, stream: object = 0) -> None:
        """Overwrite this array by a host or device array of the same dtype and shape."""
        if not self.flags.forc:
            raise UsageError(f"{self} is not contiguous: it cannot be filled as one region.")
        order = "C" if self.is_c_contiguous() else "F"
        source = ary.memory if isinstance(ary, DeviceArray) else np.asarray(ary, order=order)
        self._match(source)
        self.memory[...] = source.reshape(self.shape)

    def _match(self, ary: np.ndarray) -> None:
        """UsageError where a copy would need other numbers, or another order of them."""
        mine = self.memory.squeeze()
        other = ary.squeeze()
        alike = ["dtype", "shape"]
        if mine.size:
            alike.append("strides")
        for what in alike:
            if getattr(mine, what) != getattr(other, what):
                raise UsageError(
                    f"A copy needs the same {what} on both sides: the device array has "
                    f"{getattr(self, what)}, the other one {getattr(ary, what)}."
                )

    def __getitem__(self, index: object) -> "DeviceArray | np.generic":
        return self._view("__getitem__", index)

    def __setitem__(self, index: object, value: object) -> None:
        self.memory[index] = value.memory if isinstance(value, DeviceArray) else value

    def getitem(self, item: object, stream: object = 0) -> "DeviceArray | np.generic":
        """self[item]"""
        return self[item]

    def setitem(self, key: object, value: object, stream: object = 0) -> None:
        """self[key] = value"""
        self[key] = value

    def transpose(self, axes: tuple[int, ...] | None = None) -> "DeviceArray":
        """A new device array, as in Numba, where a kernel moves the elements."""
        if self.ndim != 2:
            raise UsageError(f"Only a 2-D device array can be transposed; this is {self}.")
        return DeviceArray(self.memory.transpose(axes).copy())

    T = property(transpose)

    def split(self, section: int, stream: object = 0) -> Iterator["DeviceArray"]:
        """Views of `section` elements each; the last one holds what is left."""
        return (self[start : start + section] for start in range(0, len(self), section))

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise UsageError("The host cannot see device memory: copy=False is not possible.")
        return self.copy_to_host().astype(dtype or self.dtype, copy=False)

    def __len__(self) -> int:
        return len(self.memory)

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype})"


class MappedArray(np.ndarray):
    """A host array that kernels reach without a copy: mapped and managed memory."""

    @property
    def memory(self) -> np.ndarray:
        """The device memory that it is."""
        return self.view(np.ndarray)

    @property
    def __cuda_array_interface__(self) -> NoReturn:
        raise Missing("Mapped memory of the SIMT machine has no address on a GPU to hand over.")


Shape = int | tuple[int, ...]


def _unwritten(
    shape: Shape,
    dtype: np.dtype | type | str,
    strides: tuple[int, ...] | None,
    order: str = "C",
) -> np.ndarray:
    """Memory that nobody wrote: NaN, or all bits set."""
    memory = np.ndarray(shape, number_dtype("The array", dtype), strides=strides, order=order)
    if memory.dtype.names:
        memory[...] = np.frombuffer(b"\xff" * memory.itemsize, memory.dtype)[0]
    elif memory.dtype.kind in "fc":
        memory.fill(np.nan)
    else:
        memory.fill(~memory.dtype.type(0))
    return memory


def _unwritten_like(model: object) -> np.ndarray:
    """The same for the shape, dtype and order of another array."""
    array = np.empty_like(model.memory if isinstance(model, DeviceArray) else np.asarray(model))
    return _unwritten(array.shape, array.dtype, array.strides)


def device_array(
    shape: Shape,
    dtype: np.dtype | type | str = np.float64,
    strides: tuple[int, ...] | None = None,
    order: str = "C",
    stream: object = 0,
) -> DeviceArray:
    """A device array that nobody wrote."""
    return DeviceArray(_unwritten(shape, dtype, strides, order))


def device_array_like(ary: object, stream: object = 0) -> DeviceArray:
    """A device array that nobody wrote, of the shape, dtype and order of another array."""
    return DeviceArray(_unwritten_like(ary))


def pinned_array(
    shape: Shape,
    dtype: np.dtype | type | str = np.float64,
    strides: tuple[int, ...] | None = None,
    order: str = "C",
    **pinning: bool,
) -> np.ndarray:
    """A host array; `pinning`: portable, wc and the like, which change nothing here."""
    return _unwritten(shape, dtype, strides, order)


def pinned_array_like(ary: object) -> np.ndarray:
    """A host array of the shape, dtype and order of another array."""
    return _unwritten_like(ary)


def mapped_array(
    shape: Shape,
    dtype: np.dtype | type | str = np.float64,
    strides: tuple[int, ...] | None = None,
    order: str = "C",
    stream: object = 0,
    **pinning: bool,
) -> MappedArray:
    """A host array that kernels reach without a copy; `pinning` changes nothing here."""
    return _unwritten(shape, dtype, strides, order).view(MappedArray)


def mapped_array_like(ary: object, stream: object = 0, **pinning: bool) -> MappedArray:
    """A mapped array of the shape, dtype and order of another array."""
    return _unwritten_like(ary).view(MappedArray)


managed_array = mapped_array


def to_device(
    obj: object, stream: object = 0, copy: bool = True, to: DeviceArray | None = None
) -> DeviceArray:
    """A device array with a copy of `obj`; `to` is filled, when it is given, and returned."""
    if to is not None:
        if copy:
            to.copy_to_device(obj, stream)
        return to
    if isinstance(obj, DeviceArray):
        return obj
    host = host_array("The array", obj)
    return DeviceArray(host.copy(order="K")) if copy else device_array_like(host)


def is_cuda_array(obj: object) -> bool:
    """Whether kernels reach it without a copy."""
    return isinstance(obj, DeviceArray | MappedArray)


@contextmanager
def mapped(*arrays: np.ndarray, stream: object = 0) -> Iterator:
    """Device arrays that share their memory with the host arrays."""
    views = [DeviceArray(host_array("The array", array)) for array in arrays]
    yield views[0] if len(views) == 1 else views


pinned = mapped  # there is no page to lock
