"""`guvectorize` for target='cuda': a function of small arrays, called for each of many of them."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from numba_simt.errors import UsageError
from numba_simt.launching.arrays import DeviceArray, device_array, is_cuda_array
from numba_simt.launching.dispatcher import Kernel
from numba_simt.libraries.elementwise import kernel_that_calls, refuse_options

_LAYOUT = re.compile(r"\((.*?)\)")


def guvectorize(
    ftylist_or_function: object,
    signature: str | None = None,
    target: str = "cuda",
    **options: object,
) -> object:
    """numba.cuda's `guvectorize`; for every target but 'cuda' it is Numba's own.

    For 'cuda' a generalised ufunc of the SIMT machine, for signatures such as
    "void(float32[:], float32[:])" and a layout such as "(n)->(n)".
    """
    if target != "cuda":
        from numba.np.ufunc import guvectorize as of_numba

        given = (ftylist_or_function,) if signature is None else (ftylist_or_function, signature)
        return of_numba(*given, target=target, **options)
    options.pop("identity", None)
    if options.pop("writable_args", ()):
        raise UsageError("guvectorize for target='cuda' has no writable_args: leave them out.")
    refuse_options("guvectorize", options)
    if signature is None or callable(ftylist_or_function):
        raise UsageError(
            "guvectorize for target='cuda' takes signatures and a layout: "
            '@guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda").'
        )
    several = isinstance(ftylist_or_function, list)
    signatures = ftylist_or_function if several else [ftylist_or_function]

    def make(function: Callable) -> "Gufunc":
        return Gufunc(function, signatures, signature)

    return make


@dataclass(frozen=True)
class _Version:
    """The function for one signature."""

    inputs: tuple[np.dtype, ...]
    outputs: tuple[np.dtype, ...]
    kernel: Kernel


class Gufunc:
    """What guvectorize makes of a function."""

    def __init__(self, function: Callable, signatures: Sequence, layout: str) -> None:
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.pyfunc = function
        self.signature = layout
        before, _, after = layout.replace(" ", "").partition("->")
        self._inputs = [_axes(one) for one in _LAYOUT.findall(before)]
        self._outputs = [_axes(one) for one in _LAYOUT.findall(after)]
        known = {name for axes in self._inputs for name in axes}
        unknown = {name for axes in self._outputs for name in axes} - known
        if not self._outputs or unknown:
            raise UsageError(
                f"{layout!r} is no layout for {self.__name__}: each axis of an output is one of an "
                'input, such as "(m,n),(n)->(m)".'
            )
        self._versions = [self._version(signature) for signature in signatures]

    def _version(self, signature: object) -> _Version:
        """Compiles the function for one signature."""
        from numba import types
        from numba.np.numpy_support import as_dtype

        names = [f"x{i}" for i in range(len(self._inputs) + len(self._outputs))]
        kinds = _kinds(self.__name__, signature, len(names))
        items = []
        for name, kind, axes in zip(names, kinds, self._inputs + self._outputs, strict=True):
            is_array = isinstance(kind, types.Array)
            if not is_array and axes:
                raise UsageError(f"{self.signature!r} has an array where {signature} has {kind}.")
            one = "thread:thread + 1" if is_array and not axes else "thread"
            items.append(f"{name}[{', '.join([one, *':' * len(axes)])}]")
        kernel, _ = kernel_that_calls(
            self.pyfunc, signature, names, f"{names[-1]}.shape[0]", f"core({', '.join(items)})"
        )
        outer = []
        for kind, axes in zip(kinds, self._inputs + self._outputs, strict=True):
            outer.append(types.Array(getattr(kind, "dtype", kind), 1 + len(axes), "A"))
        kernel.compile(tuple(outer))
        dtypes = tuple(as_dtype(kind.dtype) for kind in outer)
        here = len(self._inputs)
        return _Version(dtypes[:here], dtypes[here:], kernel)

    def __call__(self, *args: object, out: object = None, stream: object = 0) -> object:
        """The function of the last axes of the arguments, for each index of those before them.

        The outputs are new, or given behind the inputs, or as `out`; they are returned, on the
        device if an argument or an output lies there.
        """
        inputs, outputs = self._given(args, out)
        on_device = any(is_cuda_array(one) for one in (*args, *outputs))
        version = self._fitting(inputs)
        loop, sizes = self._schedule([one.shape for one in inputs])
        count = math.prod(loop)
        if not count:
            raise UsageError(f"{self.__name__} is called for no elements: an axis is of length 0.")
        flat = []
        for one, axes, dtype in zip(inputs, self._inputs, version.inputs, strict=True):
            inner = tuple(sizes[name] for name in axes)
            flat.append(DeviceArray(_repeated(_cast(one, dtype), count, inner)))
        filled = []
        for one, axes, dtype in zip(outputs, self._outputs, version.outputs, strict=True):
            shape = loop + tuple(sizes[name] for name in axes)
            if one is not None and one.shape != shape:
                raise UsageError(
                    f"An output has the shape {one.shape}; {self.__name__}'s is {shape}."
                )
            filled.append(one if is_cuda_array(one) else device_array(shape, dtype))
            flat.append(filled[-1].reshape(count, *shape[len(loop) :]))
        version.kernel.forall(count, stream=stream)(*flat)
        found = []
        for one, array in zip(outputs, filled, strict=True):
            found.append(array if on_device else array.copy_to_host(one))
        return found[0] if len(found) == 1 else tuple(found)

    def _given(self, args: Sequence, out: object) -> tuple[list, list]:
        """The inputs as arrays, and the outputs; None is one that is to be made."""
        n_inputs, n_outputs = len(self._inputs), len(self._outputs)
        if out is not None and len(args) > n_inputs:
            raise UsageError("An output is given by its place and as `out`: give it once.")
        if len(args) not in (n_inputs, n_inputs + n_outputs):
            raise UsageError(
                f"{self.__name__} takes {n_inputs} inputs, and {n_outputs} outputs behind them if "
                f"they are given, not {len(args)} arguments."
            )
        inputs = [one if is_cuda_array(one) else np.asarray(one) for one in args[:n_inputs]]
        outputs = list(args[n_inputs:]) or [out] * n_outputs
        return inputs, outputs

    def _fitting(self, inputs: Sequence) -> _Version:
        """The version for these dtypes; or else, as in Numba, the first that can become them."""
        dtypes = tuple(one.dtype for one in inputs)
        for version in self._versions:
            if version.inputs == dtypes:
                return version
        for version in self._versions:
            if all(map(np.can_cast, version.inputs, dtypes)):
                return version
        found = ", ".join(map(str, dtypes))
        raise UsageError(f"{self.__name__} has no matching signature for ({found}): convert them.")

    def _schedule(self, shapes: list[tuple[int, ...]]) -> tuple[tuple[int, ...], dict[str, int]]:
        """The axes over which the function is called, and the lengths of the axes with names."""
        sizes: dict[str, int] = {}
        outer = []
        for number, (shape, axes) in enumerate(zip(shapes, self._inputs, strict=True), 1):
            if len(shape) < len(axes):
                raise UsageError(f"Argument {number} of {self.__name__} needs {len(axes)} axes.")
            cut = len(shape) - len(axes)
            outer.append(shape[:cut])
            for name, length in zip(axes, shape[cut:], strict=True):
                if sizes.setdefault(name, length) != length:
                    raise UsageError(
                        f"Argument {number} of {self.__name__} has {length} elements along "
                        f"{name}, another one {sizes[name]}."
                    )
        loop = max(outer, key=math.prod)
        for number, one in enumerate(outer, 1):
            if one not in (loop, (1,), ()):
                raise UsageError(
                    f"Argument {number} of {self.__name__} has the axes {one} before those of its "
                    f"layout, where others have {loop}."
                )
        return loop, sizes


def _axes(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def _kinds(name: str, signature: object, count: int) -> tuple:
    """The types of the arguments; UsageError where there are others, or a result."""
    from numba import types
    from numba.core.sigutils import normalize_signature

    kinds, result = normalize_signature(signature)
    if result not in (None, types.none):
        raise UsageError(f"{name} fills its outputs and returns nothing: {signature} returns one.")
    if len(kinds) != count:
        raise UsageError(f"{signature} has {len(kinds)} arguments, the layout of {name} {count}.")
    return kinds


def _cast(one: object, dtype: np.dtype) -> np.ndarray:
    if not is_cuda_array(one):
        return one.astype(dtype, copy=False)
    if one.dtype != dtype:
        raise UsageError(f"A device array of {one.dtype} is not converted to {dtype}: do it first.")
    return one.memory


def _repeated(array: np.ndarray, count: int, inner: tuple[int, ...]) -> np.ndarray:
    """The array with one first axis of that length; a single one is seen again and again."""
    if array.size == math.prod(inner):
        return np.broadcast_to(array.reshape(inner), (count, *inner))
    return array.reshape(count, *inner)
