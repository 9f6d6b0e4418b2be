"""The cycles of a product on a systolic array as a formula: it stands beside the simulation."""

from labkit.shapes import fit_integer
from labkit.tpu.matrix_unit.operands import one_of
from labkit.tpu.matrix_unit.tiling import AXES, count_tiles, extent


def cycles(
    dataflow: str, M: int, K: int, N: int, rows: int, cols: int, double_buffer: bool = False
) -> int:
    """The closed form for a[M,K] b[K,N] on R × C elements, with T = M (ws), N (is) or K (os) steps.

    ws, is:  (R + T + R + C - 2) * tiles    load R rows; then the last step meets the last element
    os:      (T + R + C - 2) * tiles        the same without loading, and without the drain
    ws, double-buffered:  R + (tiles - 1) * max(T, R) + T + R + C - 2

    SCALE-Sim uses the first two, and reports one cycle less. Raises ValueError for a dataflow that
    is none or cannot be double-buffered, and for sizes below 1.
    """
    one_of("dataflow", dataflow, *AXES)
    one_of("double_buffer", double_buffer, False, True)
    if double_buffer:
        one_of("dataflow with double_buffer", dataflow, "ws")
    sizes = {"M": M, "K": K, "N": N, "rows": rows, "cols": cols}
    for name, size in sizes.items():
        fit_integer("SystolicArray", name, size, at_least=1)
    product = extent(dataflow, M, K, N)
    tiles = count_tiles(product, rows, cols)
    load = 0 if dataflow == "os" else rows
    through = product.steps + rows + cols - 2
    if double_buffer:
        return load + (tiles - 1) * max(product.steps, rows) + through
    return (load + through) * tiles
