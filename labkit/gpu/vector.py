"""Sixteen bytes in one access: what Numba cannot write, as functions for kernels.

A GPU moves at most 16 bytes per lane and instruction. `load_float32x4(a, i)` reads `a[i:i+4]`,
`load_float32x4(a, (i, j))` reads `a[i, j:j+4]`, `store_float32x4(a, i, x, y, z, w)` writes; the
same for uint32. The array is C-contiguous, in global or shared memory, and the address a multiple
of 16 bytes. On a GPU they become ld.global.v4.f32, ld.shared.v4.f32, st.global.v4.f32 and so on.
"""

from functools import cache


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
    from numba.cuda.cgutils import get_item_pointer, ir, unpack_tuple
    from numba.cuda.extending import intrinsic, overload
    from numba.cuda.np.arrayobj import fix_integer_index

    def address(context, builder, signature, given):  # of four elements
        array, index = signature.args[:2]
        memory = context.make_array(array)(context, builder, given[0])
        many = isinstance(index, types.BaseTuple)
        places = unpack_tuple(builder, given[1]) if many else [given[1]]
        kinds, lengths = list(index) if many else [index], unpack_tuple(builder, memory.shape)
        axes = zip(kinds, places, lengths, strict=True)
        places = [fix_integer_index(context, builder, *axis) for axis in axes]
        first = get_item_pointer(context, builder, array, memory, places)
        four = ir.VectorType(context.get_value_type(array.dtype), 4)
        return builder.bitcast(first, four.as_pointer()), four

    def load(typing, array, index):
        def generate(context, builder, signature, given):
            four = builder.load(address(context, builder, signature, given)[0], align=16)
            items = [builder.extract_element(four, ir.IntType(32)(i)) for i in range(4)]
            return context.make_tuple(builder, signature.return_type, items)

        return types.UniTuple(array.dtype, 4)(array, index), generate

    def store(typing, array, index, x, y, z, w):
        def generate(context, builder, signature, given):
            where, kind = address(context, builder, signature, given)
            four = ir.Constant(kind, ir.Undefined)
            for i in range(4):
                four = builder.insert_element(four, given[2 + i], ir.IntType(32)(i))
            builder.store(four, where, align=16)
            return context.get_dummy_value()

        return types.void(array, index, *4 * [array.dtype]), generate

    def teach(kind, loading, storing):
        def fits(array: object) -> bool:
            return isinstance(array, types.Array) and array.layout == "C" and array.dtype == kind

        @overload(globals()[f"load_{kind}x4"])
        def load(array, index):
            return (lambda array, index: loading(array, index)) if fits(array) else None

        @overload(globals()[f"store_{kind}x4"])
        def store(array, index, x, y, z, w):
            def four(array, index, x, y, z, w):
                storing(array, index, x, y, z, w)

            return four if fits(array) else None

    for kind in (types.float32, types.uint32):
        teach(kind, intrinsic(load), intrinsic(store))
