"""Sixteen bytes in one access: what Numba cannot write, as functions for kernels.

A GPU moves at most 16 bytes per lane and instruction. `load_float32x4(a, i)` reads `a[i:i+4]`,
`load_float32x4(a, (i, j))` reads `a[i, j:j+4]`, `store_float32x4(a, i, x, y, z, w)` writes; the
same for uint32. The array is C-contiguous, in global or shared memory, and the address a multiple
of 16 bytes. On a GPU they become ld.global.v4.f32, ld.shared.v4.f32, st.global.v4.f32 and so on.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

BYTES = 16  # of one access, and what its address is a multiple of


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
    from numba_simt.errors import KernelError

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
        if not _fits(array, kind):
            return None

        def four(array, index):
            return load(array, index)

        return four


def _teach_store(kind: Any, function: Callable, store: Callable) -> None:
    from numba.cuda.extending import overload

    @overload(function)
    def store_x4(array, index, x, y, z, w):
        if not _fits(array, kind):
            return None

        def four(array, index, x, y, z, w):
            store(array, index, x, y, z, w)

        return four


def _fits(array: Any, kind: Any) -> bool:
    """Is this Numba's type of a C-contiguous array of that kind?"""
    from numba.cuda import types

    if not isinstance(array, types.Array):
        return False
    is_contiguous = array.layout == "C"
    return is_contiguous and array.dtype == kind


# What follows is called by Numba: a function of types gives the signature, and a function that
# writes LLVM code for values of these types.


def _load(typing, array, index):
    from numba.cuda import types
    from numba.cuda.cgutils import ir

    def generate(context, builder, signature, given):
        where, _ = _address(context, builder, signature, given)
        four = builder.load(where, align=BYTES)
        items = []
        for i in range(4):
            place = ir.IntType(32)(i)
            items.append(builder.extract_element(four, place))
        return context.make_tuple(builder, signature.return_type, items)

    four_items = types.UniTuple(array.dtype, 4)
    signature = four_items(array, index)
    return signature, generate


def _store(typing, array, index, x, y, z, w):
    from numba.cuda import types
    from numba.cuda.cgutils import ir

    def generate(context, builder, signature, given):
        where, kind = _address(context, builder, signature, given)
        four = ir.Constant(kind, ir.Undefined)
        _, _, *values = given
        for i, value in enumerate(values):
            place = ir.IntType(32)(i)
            four = builder.insert_element(four, value, place)
        builder.store(four, where, align=BYTES)
        return context.get_dummy_value()

    value = array.dtype
    signature = types.void(array, index, value, value, value, value)
    return signature, generate


def _address(context, builder, signature, given):
    """The address of array[index] as one of four elements, and the type of the four."""
    from numba.cuda import types
    from numba.cuda.cgutils import get_item_pointer, ir, unpack_tuple
    from numba.cuda.np.arrayobj import fix_integer_index

    array, index, *_ = signature.args
    array_value, index_value, *_ = given
    view = context.make_array(array)
    memory = view(context, builder, array_value)
    if isinstance(index, types.BaseTuple):
        kinds = list(index)
        values = unpack_tuple(builder, index_value)
    else:
        kinds = [index]
        values = [index_value]
    lengths = unpack_tuple(builder, memory.shape)
    places = []
    for kind, value, length in zip(kinds, values, lengths, strict=True):
        place = fix_integer_index(context, builder, kind, value, length)
        places.append(place)
    first = get_item_pointer(context, builder, array, memory, places)
    item = context.get_value_type(array.dtype)
    four = ir.VectorType(item, 4)
    where = builder.bitcast(first, four.as_pointer())
    return where, four
