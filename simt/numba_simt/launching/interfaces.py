"""Arrays of other libraries, taken as device memory without a copy."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from numba_simt.errors import UsageError
from numba_simt.launching.arrays import DeviceArray, host_array, is_cuda_array

_MAPS = Path("/proc/self/maps")  # Linux: which addresses this process has


def as_cuda_array(obj: object, sync: bool = True) -> DeviceArray:
    """A view of device memory, of a CPU tensor, or of what has a `__cuda_array_interface__`.

    A NumPy array is refused, as by Numba: to_device copies it.
    """
    if is_cuda_array(obj):
        return DeviceArray(obj.memory)
    if hasattr(obj, "__cuda_array_interface__"):
        return from_cuda_array_interface(obj.__cuda_array_interface__, obj)
    if isinstance(obj, np.ndarray | np.generic) or not hasattr(obj, "__array__"):
        raise UsageError(f"A {type(obj).__name__} does not lie in device memory: use to_device.")
    return DeviceArray(shared_array("The array", obj))


def shared_array(what: str, obj: object) -> np.ndarray:
    """The memory of an array of the host itself; UsageError where NumPy gets copies."""
    array = host_array(what, obj)
    if array.size and not np.may_share_memory(array, host_array(what, obj)):
        raise UsageError(f"{what} gives NumPy copies: what the kernel writes would be lost.")
    return array


def from_cuda_array_interface(
    desc: dict, owner: object = None, sync: bool = True, stream: object = 0
) -> DeviceArray:
    """The array that a `__cuda_array_interface__` describes, if it lies in this process's memory.

    What lies on a GPU cannot be reached from here: UsageError, as for what describes no array.
    """
    if not isinstance(desc, Mapping):
        raise UsageError(f"A __cuda_array_interface__ is a dict, not {desc!r}.")
    if desc.get("mask") is not None:
        raise UsageError("The array has a mask, and a kernel would not see it.")
    try:
        shape = tuple(desc["shape"])
        dtype = np.dtype(desc["typestr"])
        strides = desc.get("strides") or _in_rows(shape, dtype.itemsize)
        reach = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
        address = desc["data"][0] or 0
    except KeyError as missing:
        raise UsageError(f"Its __cuda_array_interface__ has no {missing}.") from None
    except (TypeError, ValueError) as error:
        why = str(error).rstrip(".")
        raise UsageError(f"Its __cuda_array_interface__ describes no array: {why}.") from None
    low = address + sum(r for r in reach if r < 0)
    high = address + sum(r for r in reach if r > 0) + dtype.itemsize
    if 0 in shape:
        return DeviceArray(np.empty(shape, dtype))
    if not _is_of_this_process(low, high):
        raise UsageError("The array lies on a GPU, which the SIMT machine cannot reach: copy it.")
    return DeviceArray(np.asarray(_Owned({**desc, "strides": strides}, owner)))


def _in_rows(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of a C-contiguous array, in bytes."""
    strides = []
    for length in reversed(shape):
        strides.insert(0, itemsize)
        itemsize *= length
    return tuple(strides)


class _Owned:
    """What NumPy reads of an array, and whose memory it is."""

    def __init__(self, desc: dict, owner: object) -> None:
        self._owner = owner
        kept = {key: desc[key] for key in ("shape", "typestr", "data", "strides")}
        self.__array_interface__ = kept | {"version": 3}


def _is_of_this_process(low: int, high: int) -> bool:
    """Whether this process may read all these addresses."""
    if not _MAPS.exists():
        return False
    for line in _MAPS.read_text("utf-8").splitlines():
        span, rights, *_ = line.split()
        start, end = (int(one, 16) for one in span.split("-"))
        if rights.startswith("r") and start <= low < end:
            if high <= end:
                return True
            low = end  # the next piece of memory begins where this one ends
    return False
