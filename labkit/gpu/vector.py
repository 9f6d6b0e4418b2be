"""Sixteen bytes in one access: what Numba cannot write, as functions for kernels.

A GPU moves at most 16 bytes per lane and instruction. `load_float32x4(a, i)` reads `a[i:i+4]`,
`load_float32x4(a, (i, j))` reads `a[i, j:j+4]`, `store_float32x4(a, i, x, y, z, w)` writes; the
same for uint32. The array is C-contiguous, in global or shared memory, and the address a multiple
of 16 bytes. On a GPU they become ld.global.v4.f32, ld.shared.v4.f32, st.global.v4.f32 and so on.
"""

from collections.abc import Callable
from functools import cache
from typing import Any


def load_float32x4(array: object, index: object) -> tuple[float, float, float, float]:
    """a[i], a[i+1], a[i+2], a[i+3] in one request; in a kernel only."""
    raise kernel_only("load_float32x4")


def store_float32x4(array: object, index: object, x: float, y: float, z: float, w: float) -> None:
    """a[i:i+4] = x, y, z, w in one request; in a kernel only."""
    raise kernel_only("store_float32x4")


def load_uint32x4(array: object, index: object) -> tuple[int, int, int, int]:
    """a[i], a[i+1], a[i+2], a[i+3] in one request; in a kernel only."""
    raise kernel_only("load_uint32x4")


def store_uint32x4(array: object, index: object, x: int, y: int, z: int, w: int) -> None:
    """a[i:i+4] = x, y, z, w in one request; in a kernel only."""
    raise kernel_only("store_uint32x4")


def kernel_only(name: str) -> Exception:
    """What a function says that is called outside of a kernel."""
    from labkit.gpu.simt.errors import KernelError

    return KernelError(f"{name} works inside a kernel only: call it from a @cuda.jit function.")


@cache
def register() -> None:
    """Teaches numba.cuda these functions; called by whoever chooses it."""
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    load = intrinsic(_load)
    store = intrinsic(_store)
    _teach_load(types.float32, load_float32x4, load)
    _teach_load(types.uint32, load_uint32x4, load)
    _teach_store(types.float32, store_float32x4, store)
    _teach_store(types.uint32, store_uint32x4, store)


def _teach_load(kind: Any, function: Callable, load: Callable) -> None:
    from numba.cuda.extending import overload

    @overload(function)
    def load_x4(array, index):
        if _fits(array, kind):
            return lambda array, index: load(array, index)


def _teach_store(kind: Any, function: Callable, store: Callable) -> None:
    from numba.cuda.extending import overload

    @overload(function)
    def store_x4(array, index, x, y, z, w):
        def four(array, index, x, y, z, w):
            store(array, index, x, y, z, w)

        return four if _fits(array, kind) else None


def _fits(array: Any, kind: Any) -> bool:
    """Is this Numba's type of a C-contiguous array of that kind?"""
    from numba.cuda import types

    return isinstance(array, types.Array) and array.layout == "C" and array.dtype == kind


# What follows is called by Numba: a function of types gives the signature, and a function that
# writes LLVM code for values of these types.


def _load(typing, array, index):
    from numba.cuda import types
    from numba.cuda.cgutils import ir

    def generate(context, builder, signature, given):
        where, _ = _address(context, builder, signature, given)
        four = builder.load(where, align=16)
        items = [builder.extract_element(four, ir.IntType(32)(i)) for i in range(4)]
        return context.make_tuple(builder, signature.return_type, items)

    return types.UniTuple(array.dtype, 4)(array, index), generate


def _store(typing, array, index, x, y, z, w):
    from numba.cuda import types
    from numba.cuda.cgutils import ir

    def generate(context, builder, signature, given):
        where, kind = _address(context, builder, signature, given)
        four = ir.Constant(kind, ir.Undefined)
        for i, value in enumerate(given[2:]):
            four = builder.insert_element(four, value, ir.IntType(32)(i))
        builder.store(four, where, align=16)
        return context.get_dummy_value()

    value = array.dtype
    return types.void(array, index, value, value, value, value), generate


def _address(context, builder, signature, given):
    """The address of array[index] as one of four elements, and the type of the four."""
    from numba.cuda import types
    from numba.cuda.cgutils import get_item_pointer, ir, unpack_tuple
    from numba.cuda.np.arrayobj import fix_integer_index

    array, index, *_ = signature.args
    memory = context.make_array(array)(context, builder, given[0])
    if isinstance(index, types.BaseTuple):
        kinds = list(index)
        places = unpack_tuple(builder, given[1])
    else:
        kinds = [index]
        places = [given[1]]
    lengths = unpack_tuple(builder, memory.shape)
    axes = zip(kinds, places, lengths, strict=True)
    places = [fix_integer_index(context, builder, *axis) for axis in axes]
    first = get_item_pointer(context, builder, array, memory, places)
    four = ir.VectorType(context.get_value_type(array.dtype), 4)
    return builder.bitcast(first, four.as_pointer()), four
