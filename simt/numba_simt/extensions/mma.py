"""The tensor core's multiply-add, which Numba cannot write, as a function for kernels.

`mma_m16n8k16(a, b, c)` is one instruction of a whole warp: d = a b + c with a[16, 16] and b[16, 8]
of float16, c and d[16, 8] of float32. Each lane holds a part, two neighbouring halves in a uint32.
Lane 4 g + t has

    a: a[g, p], a[g + 8, p], a[g, p + 8], a[g + 8, p + 8]     p: the pair of columns 2 t, 2 t + 1
    b: b[p, g], b[p + 8, g]
    c: c[g, 2 t], c[g, 2 t + 1], c[g + 8, 2 t], c[g + 8, 2 t + 1], and so d

On a GPU from sm_80 on it becomes mma.sync.aligned.m16n8k16 of PTX, which defines this layout. For
an older one a kernel that calls it is refused, in a sentence.
"""

from functools import cache

from numba_simt.extensions.vector import kernel_only

OLDEST = (8, 0)  # the architecture that the instruction came with
LACKING = (
    "mma_m16n8k16 needs a GPU from sm_80 on (an A100, H200 or RTX 30), but this kernel is compiled "
    "for sm_{}{}. The tensor cores of a T4 (sm_75) multiply float16 in steps of 8 along k, so they "
    "lack m16n8k16; they also lack bfloat16 and TF32, and the T4 lacks cp.async. There use a "
    "kernel of float32, or torch.matmul in float16."
)


def mma_m16n8k16(a: tuple, b: tuple, c: tuple) -> tuple[float, float, float, float]:
    """d = a b + c by all 32 lanes of a warp; a: 4 uint32, b: 2, c and d: 4 float32 of this lane."""
    raise kernel_only("mma_m16n8k16")


@cache
def register() -> None:
    """Teaches numba.cuda the function; called by whoever chooses it."""
    from numba.cuda import types
    from numba.cuda.cgutils import ir, unpack_tuple
    from numba.cuda.core.targetconfig import ConfigStack
    from numba.cuda.extending import intrinsic, overload

    name = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    text = f"{name} {{$0,$1,$2,$3}}, {{$4,$5,$6,$7}}, {{$8,$9}}, {{$10,$11,$12,$13}};"

    @intrinsic
    def multiply(typing, a, b, c):
        def generate(context, builder, signature, given):
            word = ir.IntType(32)
            real = ir.FloatType()
            values = []
            wanted = types.uint32, types.uint32, types.float32  # of a, b and c
            for items, kinds, target in zip(given, signature.args, wanted, strict=True):
                for item, kind in zip(unpack_tuple(builder, items), kinds, strict=True):
                    values.append(context.cast(builder, item, kind, target))
            four_reals = ir.LiteralStructType(4 * [real])
            instruction = ir.FunctionType(four_reals, 6 * [word] + 4 * [real])
            registers = 4 * ["=f"] + 6 * ["r"] + 4 * ["f"]  # d is written; a, b and c are read
            four = builder.call(ir.InlineAsm(instruction, text, ",".join(registers)), values)
            items = [builder.extract_value(four, i) for i in range(4)]
            return context.make_tuple(builder, signature.return_type, items)

        return types.UniTuple(types.float32, 4)(a, b, c), generate

    @overload(mma_m16n8k16)
    def mma(a, b, c):
        arch = ConfigStack().top().compute_capability
        if arch < OLDEST:  # said by an error that is none of Numba's: those are swallowed here
            raise NotImplementedError(LACKING.format(*arch))
        lengths = [len(t) for t in (a, b, c) if isinstance(t, types.BaseTuple)]
        if lengths == [4, 2, 4]:
            return lambda a, b, c: multiply(a, b, c)
