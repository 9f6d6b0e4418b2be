"""A small stand-in for CuPy, over NumPy, so that scripts which hold their arrays in it run at all.

Its arrays are device arrays of the SIMT machine that compute as NumPy's do; random numbers are
NumPy's, too. What CuPy has besides is refused by name. It takes CuPy's place only where the
command `numba-simt` puts it, for a script, and CuPy is not installed.
"""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import NoReturn

import numpy as np

from numba_simt.errors import Missing, UsageError
from numba_simt.launching import devices
from numba_simt.launching.arrays import DeviceArray, is_cuda_array

__version__ = "13.0.0"  # whose names are here
is_available = devices.is_available
_ARE_NUMPYS = """bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64
    complex64 complex128 dtype pi e inf nan newaxis iinfo finfo isscalar
    result_type can_cast issubdtype generic number integer signedinteger unsignedinteger inexact
    floating complexfloating""".split()
_FUNCTIONS = """
    abs absolute add all allclose amax amin any append arange arccos arcsin arctan arctan2 argmax
    argmin argsort around array_equal atleast_1d atleast_2d average bincount bitwise_and
    bitwise_or bitwise_xor broadcast_to ceil clip column_stack concatenate conj copy cos cosh
    count_nonzero cross cumprod cumsum deg2rad diag diff divide dot einsum empty_like equal exp
    expand_dims expm1 eye fabs flip floor floor_divide fmod full full_like greater greater_equal
    histogram hstack hypot identity imag inner isclose isfinite isinf isnan less less_equal
    linspace log log10 log1p log2 logical_and logical_not logical_or logical_xor logspace matmul
    max maximum mean median meshgrid min minimum mod moveaxis multiply nan_to_num negative nonzero
    not_equal ones ones_like outer pad percentile power prod ptp rad2deg ravel real reciprocal
    remainder repeat reshape roll rot90 round searchsorted sign sin sinh sort split sqrt square
    squeeze stack std subtract sum swapaxes take tan tanh tensordot tile trace transpose tril triu
    true_divide trunc unique var vdot vstack where zeros zeros_like""".split()
_WITHIN = {  # functions of these parts of CuPy
    "random": """beta binomial choice exponential gamma normal permutation poisson rand randint
        randn random random_sample sample seed shuffle standard_normal uniform""".split(),
    "linalg": "cholesky det eigh eigvalsh inv lstsq norm pinv qr solve svd".split(),
    "fft": """fft fft2 fftfreq fftn fftshift ifft ifft2 ifftn ifftshift irfft irfft2 rfft rfft2
        rfftfreq""".split(),
}
_OF_THE_HOST = ("base", "ctypes", "data", "dump", "dumps", "tobytes", "tofile")


class ndarray(DeviceArray, np.lib.mixins.NDArrayOperatorsMixin):
    """A device array that computes; `.get()` and asnumpy bring it to the host."""

    __hash__ = None

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _OF_THE_HOST or not hasattr(np.ndarray, name):
            raise Missing(
                f"An array of the SIMT machine's CuPy has no {name!r}: use asnumpy first."
            )
        found = getattr(self.memory, name)
        return _function(name, found) if callable(found) else _wrapped(found)

    def get(self, stream: object = None, order: str = "C", out: object = None) -> np.ndarray:
        """A copy on the host."""
        return self.copy_to_host(out)

    def set(self, arr: np.ndarray, stream: object = None) -> None:
        """Overwrites it by an array of the host."""
        self.copy_to_device(arr)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *given: object, **named: object):
        """An operator, or a ufunc of NumPy."""
        return _function(ufunc.__name__, getattr(ufunc, method))(*given, **named)

    def __array_function__(self, function: Callable, kinds: object, given: tuple, named: dict):
        """A function of NumPy."""
        return _function(function.__name__, function)(*given, **named)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NoReturn:
        raise UsageError(
            "CuPy's arrays do not become NumPy's by themselves: use asnumpy or .get()."
        )

    @property
    def device(self) -> "_Device":
        """Where it is."""
        return _Device()

    def transpose(self, *axes: int) -> "ndarray":
        """A view with its axes in another order."""
        return _wrapped(self.memory.transpose(*axes))

    T = property(transpose)

    def __getitem__(self, index: object) -> "ndarray":
        return _wrapped(self.memory[_plain(index)])

    def __setitem__(self, index: object, value: object) -> None:
        _refuse_numpys("An array of CuPy", value)
        self.memory[_plain(index)] = _plain(value)

    def __iter__(self) -> Iterator["ndarray"]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.memory)

    def __int__(self) -> int:
        return int(self.memory)

    def __float__(self) -> float:
        return float(self.memory)

    def __complex__(self) -> complex:
        return complex(self.memory)

    __index__ = __int__

    def __repr__(self) -> str:
        return repr(self.memory)

    def __str__(self) -> str:
        return str(self.memory)

    def __format__(self, wanted: str) -> str:
        return format(self.memory, wanted)


def _plain(thing: object) -> object:
    """The same with NumPy's arrays in place of these."""
    if is_cuda_array(thing):
        return thing.memory
    return type(thing)(map(_plain, thing)) if type(thing) in (list, tuple) else thing


def _wrapped(thing: object) -> object:
    """The same with these arrays in place of NumPy's; a number is an array without axes."""
    if isinstance(thing, np.ndarray | np.generic):
        return ndarray(np.asarray(thing))
    return type(thing)(map(_wrapped, thing)) if type(thing) in (list, tuple) else thing


def _refuse_numpys(what: str, *given: object) -> None:
    if any(isinstance(one, np.ndarray) for one in given):
        raise UsageError(f"{what} takes arrays of CuPy, not of NumPy: use cupy.asarray first.")


def _function(name: str, function: Callable) -> Callable:
    """A function of NumPy, for these arrays."""

    def call(*given: object, **named: object) -> object:
        _refuse_numpys(f"cupy.{name}", *given, *named.values())
        found = function(*map(_plain, given), **{key: _plain(one) for key, one in named.items()})
        out = named.get("out")
        if out is None:
            return _wrapped(found)
        return out[0] if isinstance(out, tuple) else out

    call.__name__ = name
    return call


def _part(name: str) -> SimpleNamespace:
    """cupy.linalg and the like"""
    of_numpy = getattr(np, name)
    return SimpleNamespace(**{one: _function(one, getattr(of_numpy, one)) for one in _WITHIN[name]})


def array(obj: object, dtype: object = None, copy: bool = True, order: str = "K") -> ndarray:
    """A new array, with a copy of one of the host or the device."""
    return ndarray(np.array(_plain(obj), dtype, order=order))


def asarray(a: object, dtype: object = None, order: str | None = None) -> ndarray:
    """The array itself, if it is one of CuPy; a copy of one of the host."""
    if is_cuda_array(a):
        return ndarray(np.asarray(a.memory, dtype, order))
    return array(a, dtype, order=order or "K")


asanyarray = asarray


def ascontiguousarray(a: object, dtype: object = None) -> ndarray:
    """The same with its rows one after the other."""
    return asarray(a, dtype, "C")


def empty(shape: object, dtype: object = float, order: str = "C") -> ndarray:
    """An array that nobody wrote: NaN, or all bits set."""
    found = ndarray(np.empty(shape, dtype, order))
    found.memory.fill(np.nan if found.dtype.kind in "fc" else ~found.dtype.type(0))
    return found


def asnumpy(a: object, stream: object = None, order: str = "C", out: object = None) -> np.ndarray:
    """A copy on the host."""
    return a.copy_to_host(out) if is_cuda_array(a) else np.asarray(a)


def get_array_module(*given: object) -> object:
    """This module where one of them is an array of CuPy; else NumPy."""
    import sys

    return sys.modules[__name__] if any(isinstance(one, ndarray) for one in given) else np


class _Stream(devices.Stream):
    """A stream of CuPy: all work is done in order."""

    null: "_Stream"

    def __init__(self, *given: object, **named: object) -> None:
        super().__init__()

    def __enter__(self) -> "_Stream":
        return self

    def __exit__(self, *why: object) -> None:
        pass


_Stream.null = _Stream()


class _Device(devices.Device):
    """cupy.cuda.Device(0)"""

    def __init__(self, device: int = 0) -> None:
        super().__init__()
        if device:
            raise UsageError(f"The SIMT machine is device 0; there is no device {device}.")

    @property
    def compute_capability(self) -> str:
        """As CuPy writes it: "75"."""
        return "".join(map(str, super().compute_capability))

    use = devices.synchronize


class _Pool:
    """A pool of memory: Python frees by itself."""

    free_all_blocks = devices.synchronize
    set_limit = devices.synchronize

    def used_bytes(self) -> int:
        """None that a pool holds."""
        return 0

    total_bytes = used_bytes
    n_free_blocks = used_bytes


def get_default_memory_pool() -> _Pool:
    """The pool of device memory."""
    return _Pool()


get_default_pinned_memory_pool = get_default_memory_pool
cuda = SimpleNamespace(
    Device=_Device,
    Event=devices.Event,
    Stream=_Stream,
    get_elapsed_time=devices.Event.elapsed_time,
    get_current_stream=lambda: _Stream.null,
    is_available=devices.is_available,
    runtime=SimpleNamespace(
        getDeviceCount=lambda: 1,
        deviceSynchronize=devices.synchronize,
        runtimeGetVersion=lambda: 1000 * devices.RUNTIME[0] + 10 * devices.RUNTIME[1],
        memGetInfo=lambda: tuple(devices.current_context().get_memory_info()),
    ),
)


def __getattr__(name: str) -> object:
    if name in _ARE_NUMPYS:
        return getattr(np, name)
    if name in _FUNCTIONS:
        return _function(name, getattr(np, name))
    if name in _WITHIN:
        return _part(name)
    raise Missing(
        f"The SIMT machine's stand-in for CuPy has no cupy.{name}: it has arrays, most functions "
        "of NumPy for them, and kernels of Numba; where it is needed, install CuPy on a GPU."
    )
