"""`cuda.reduce`: an array combined to one value by a function of two.

The order is that of Numba's kernel: the sum of floats depends on it in the last bits.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from numba_simt.errors import UsageError
from numba_simt.in_kernel import InKernel
from numba_simt.launching.arrays import DeviceArray, device_array, is_cuda_array
from numba_simt.launching.dispatcher import Kernel, jit

cuda = InKernel("")  # inside a kernel: numba.cuda
BLOCK = 128  # threads that combine a piece of the array
BLOCKS = 64  # at most


class Reduce:
    """`total = Reduce(lambda a, b: a + b); total(array)`: made once, used often."""

    def __init__(self, functor: Callable) -> None:
        self._functor = functor

    def __call__(
        self,
        arr: np.ndarray | DeviceArray,
        size: int | None = None,
        res: DeviceArray | None = None,
        init: object = 0,
        stream: object = 0,
    ) -> object:
        """All elements of a 1-D array of the host or the device, and `init`, combined.

        size   only so many elements; res  a device array that gets the value; it is returned if
        there is none. An empty array gives `init`. UsageError for what is no 1-D array.
        """
        if getattr(arr, "ndim", None) != 1:
            raise UsageError("cuda.reduce combines the elements of a 1-D array: give its ravel().")
        if res is not None and not is_cuda_array(res):
            raise UsageError("cuda.reduce writes `res` on the device: give a device array.")
        arr = arr if size is None else arr[:size]
        init = arr.dtype.type(init)
        if not arr.size:
            return init
        parts = self._parts(arr, init, stream)
        if parts.size > 1:
            _kernel(self._functor, arr.dtype)[1, parts.size, stream](parts, parts, init, False)
        if res is None:
            return parts[0]
        res[:1].copy_to_device(parts[:1], stream=stream)
        return None

    def _parts(self, arr: object, init: object, stream: object) -> DeviceArray:
        """A value for each block of threads; the last block may be smaller."""
        kernel = _kernel(self._functor, arr.dtype)
        whole = arr.size - arr.size % BLOCK
        blocks = min(whole // BLOCK, BLOCKS)
        parts = device_array(blocks + (whole < arr.size), arr.dtype)
        if whole:
            kernel[blocks, BLOCK, stream](arr[:whole], parts[:blocks], init, True)
        if whole < arr.size:
            rest = arr.size - whole
            kernel[1, rest, stream](arr[whole:], parts[blocks:], init, blocks == 0)
        return parts


@cache
def _kernel(functor: Callable, dtype: np.dtype) -> Kernel:
    """The kernel for elements of this dtype; each block leaves one value."""
    combine = jit(functor, device=True)

    @jit
    def combine_blocks(x, parts, init, with_init):
        values = cuda.shared.array(BLOCK, dtype)
        t = cuda.threadIdx.x
        n = cuda.blockDim.x
        start = cuda.grid(1)
        value = x[start]
        for i in range(start + cuda.gridsize(1), x.size, cuda.gridsize(1)):
            value = combine(value, x[i])
        values[t] = value
        cuda.syncwarp()
        lane = t % 32
        if n == BLOCK or t - lane + 32 < n:
            width = 16
            while width:
                if lane < width:
                    values[t] = combine(values[t], values[t + width])
                cuda.syncwarp()
                width //= 2
        elif lane == 0:
            for i in range(t + 1, n):
                values[t] = combine(values[t], values[i])
        cuda.syncthreads()
        if n == BLOCK:
            if t == 0 or t == 32:
                values[t] = combine(values[t], values[t + 64])
            cuda.syncthreads()
            if t == 0:
                values[0] = combine(values[0], values[32])
        elif t == 0:
            for i in range(32, n, 32):
                values[0] = combine(values[0], values[i])
        if t == 0:
            if with_init and cuda.blockIdx.x == 0:
                values[0] = combine(values[0], init)
            parts[cuda.blockIdx.x] = values[0]

    return combine_blocks
