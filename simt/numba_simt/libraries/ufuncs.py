"""`vectorize` for target='cuda': a function of numbers, called for each element of arrays."""

import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from numba_simt.errors import UsageError
from numba_simt.launching.arrays import DeviceArray, device_array, is_cuda_array
from numba_simt.launching.dispatcher import Kernel
from numba_simt.libraries.elementwise import kernel_that_calls, refuse_options

_NUMBERS = (int, float, complex, np.number)
_Kernels = dict[tuple[np.dtype, ...], tuple[np.dtype, Kernel]]  # by the dtypes of the arguments


def vectorize(ftylist_or_function: object = (), target: str = "cuda", **options: object) -> object:
    """numba.cuda's `vectorize`; for every target but 'cuda' it is Numba's own.

    For 'cuda' a ufunc of the SIMT machine, for signatures such as "float32(float32, float32)".
    """
    if target != "cuda":
        from numba.np.ufunc import vectorize as of_numba

        return of_numba(ftylist_or_function, target=target, **options)
    options.pop("identity", None)
    if "nopython" in options:
        warnings.warn("nopython kwarg for cuda target is redundant", RuntimeWarning, stacklevel=2)
    refuse_options("vectorize", options)
    if callable(ftylist_or_function) and not hasattr(ftylist_or_function, "args"):
        return Ufunc(ftylist_or_function, ())
    given = ftylist_or_function
    signatures = given if isinstance(given, list | tuple) and not _is_one(given) else [given]

    def make(function: Callable) -> "Ufunc":
        return Ufunc(function, signatures)

    return make


def _is_one(given: Sequence) -> bool:
    """Whether these are the types of one signature, not several signatures."""
    from numba import types

    return isinstance(given, tuple) and bool(given) and isinstance(given[0], types.Type)


class Ufunc:
    """What vectorize makes of a function. Arrays must have the dtypes of a signature."""

    def __init__(self, function: Callable, signatures: Sequence) -> None:
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.pyfunc = function
        self._kernels: _Kernels = {}
        for signature in signatures:
            self._add(signature)

    def _add(self, signature: object) -> None:
        from numba.np.numpy_support import as_dtype

        from numba_simt.reading.typing_rules import returned  # brings Numba

        names = [f"x{i}" for i in range(self.pyfunc.__code__.co_argcount)]
        call = f"out[thread] = core({', '.join(f'{name}[thread]' for name in names)})"
        kernel, core = kernel_that_calls(
            self.pyfunc, signature, [*names, "out"], "out.shape[0]", call
        )
        (given,) = core.given_signatures
        kind = given.return_type or returned(self.pyfunc, given.args)
        if kind is None:
            core.refuse(f"vectorize needs the result's type: write float64({signature}) or so.")
        result = as_dtype(kind)
        kernel.compile(tuple(one[::1] for one in (*given.args, kind)))
        self._kernels[tuple(map(as_dtype, given.args))] = result, kernel

    def __call__(self, *args: object, out: object = None, stream: object = 0) -> object:
        """The function of each element, arguments broadcast; on the device if one of them is.

        out   an array of the host or the device that is filled, and returned
        """
        dtypes = self._fitting(args)
        result, kernel = self._kernels[dtypes]
        arrays = [_as_array(arg, dtype) for arg, dtype in zip(args, dtypes, strict=True)]
        shape = _broadcast([array.shape for array in arrays])
        flat = [DeviceArray(_flat(array, shape)) for array in arrays]
        filled = out if is_cuda_array(out) else device_array(shape, result)
        if out is not None and (out.shape != shape or out.dtype != result):
            raise UsageError(
                f"`out` has the shape {out.shape} and the dtype {out.dtype}; the result of "
                f"{self.__name__} has {shape} and {result}."
            )
        memory = filled.memory if filled.flags.c_contiguous else np.empty(shape, result)
        kernel.forall(memory.size, stream=stream)(*flat, DeviceArray(memory.reshape(-1)))
        if memory is not filled.memory:
            filled.memory[...] = memory
        if is_cuda_array(out) or (out is None and any(map(is_cuda_array, args))):
            return filled
        return filled.copy_to_host(out)

    def _fitting(self, args: Sequence) -> tuple[np.dtype, ...]:
        """The signature for these arguments: arrays must fit exactly, and numbers if they can."""
        loose = [None if isinstance(arg, _NUMBERS) else _dtype_of(arg) for arg in args]
        exact = [_dtype_of(arg) for arg in args]
        for given in (exact, loose) if None in loose else (loose,):
            found = [kinds for kinds in self._kernels if _fits(kinds, given)]
            if len(found) == 1:
                return found[0]
            if found:
                raise UsageError(
                    f"{self.__name__} has several signatures for these numbers: give them a type, "
                    "such as np.float32(2)."
                )
        offered = " or ".join(f"({', '.join(map(str, kinds))})" for kinds in self._kernels)
        raise UsageError(
            f"No matching version of {self.__name__}: it was vectorized for {offered or 'nothing'},"
            f" and is called with ({', '.join(map(str, exact))}). Nothing is converted for a GPU."
        )

    def reduce(self, arg: object, stream: object = 0) -> object:
        """The elements of a 1-D array, combined by a function of two: halves, and halves again."""
        binary = all(len(kinds) == 2 for kinds in self._kernels)
        if not binary or getattr(arg, "ndim", 0) != 1 or not arg.shape[0]:
            raise UsageError(f"{self.__name__}.reduce takes two numbers at a time of a 1-D array.")
        if arg.shape[0] == 1:
            return arg[0]
        memory = arg.memory if is_cuda_array(arg) else np.asarray(arg)
        found = self._reduce(DeviceArray(memory.copy()), stream)
        return found.copy_to_host()[0]

    def _reduce(self, values: DeviceArray, stream: object) -> DeviceArray:
        """Its first element is the result."""
        n = len(values)
        if n == 1:
            return values
        if n % 2:
            even = self._reduce(values[: n - 1], stream)
            return self(even, values[n - 1 :], out=even, stream=stream)
        half = values[: n // 2]
        self(half, values[n // 2 :], out=half, stream=stream)
        return self._reduce(half, stream)


def _dtype_of(arg: object) -> np.dtype:
    return arg.memory.dtype if is_cuda_array(arg) else np.asarray(arg).dtype


def _fits(kinds: Sequence, given: Sequence) -> bool:
    same = all(one is None or one == kind for kind, one in zip(kinds, given, strict=False))
    return len(kinds) == len(given) and same


def _as_array(arg: object, dtype: np.dtype) -> np.ndarray:
    """The argument's elements; a number is an array of one, as in Numba."""
    if isinstance(arg, _NUMBERS):
        return np.array([arg], dtype)
    return arg.memory if is_cuda_array(arg) else np.asarray(arg)


def _flat(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The array, broadcast, along one axis; a single element is seen again and again."""
    if array.size == 1:
        return np.broadcast_to(array.reshape(1), (math.prod(shape),))
    return np.ascontiguousarray(np.broadcast_to(array, shape)).reshape(-1)


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        found = " and ".join(map(str, shapes))
        raise UsageError(f"Arrays of the shapes {found} cannot be broadcast.") from error
