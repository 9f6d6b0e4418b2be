"""`SystolicArray(rows, cols)`: the matrix unit of a TPU, stepped by its registers or counted whole.

    run = SystolicArray(4, 4).matmul(a, b, dataflow="ws", trace=True)
    run.result, run.cycles, run.utilization, run.trace[0]

int8 operands are summed in int32 and bfloat16 ones in float32, as in the units of TPUs. `cycles` is
the closed form that stands beside the simulation. Lessons a_product_in_a_grid and
what_a_grid_costs derive both.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from labkit.shapes import fit_integer
from labkit.tpu.matrix_unit import dataflow as flows
from labkit.tpu.matrix_unit import vectorised
from labkit.tpu.matrix_unit.closed_form import cycles
from labkit.tpu.matrix_unit.grid import Cycle, Grid
from labkit.tpu.matrix_unit.operands import in_their_sums, one_of
from labkit.tpu.matrix_unit.patches import Patches
from labkit.tpu.matrix_unit.tiling import count_tiles, cut, extent

LIMITS = {
    "tiles": 1_000_000,
    "cycles with their occupancy": 50_000_000,
    "register updates": 1_000_000_000,
    "register values of a trace": 200_000,
}


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """What a multiplication on the array gave and cost; all numbers are counted."""

    rows: int
    cols: int
    dataflow: str
    double_buffer: bool
    tiles: int
    occupancy: np.ndarray  # [cycles]: the elements that do a useful multiply-add in each cycle
    result: np.ndarray | None = None  # None: only scheduled
    buffer_bytes: int = 0  # of im2col's matrix, written once and read once
    trace: list[Cycle] | None = None

    @property
    def cycles(self) -> int:
        """Clock cycles from the first weight loaded to the last product; for "os", no drain."""
        return len(self.occupancy)

    @property
    def macs(self) -> int:
        """Useful multiply-adds; those on padding are none."""
        return int(self.occupancy.sum())

    @property
    def utilization(self) -> float:
        """Share of the elements at work, over `cycles`; so for "os" without the drain."""
        return self.macs / (self.rows * self.cols * self.cycles)

    @property
    def drain(self) -> int:
        """Cycles of "os" in which the sums shift out, not part of `cycles`; else 0."""
        return self.rows * self.tiles if self.dataflow == "os" else 0

    def __repr__(self) -> str:
        name = f"{self.dataflow}, double-buffered," if self.double_buffer else self.dataflow
        tiles = "1 tile" if self.tiles == 1 else f"{self.tiles:,} tiles"
        return (
            f"{name} on {self.rows} × {self.cols}: {self.cycles:,} cycles, {tiles}, "
            f"{self.macs:,} useful multiply-adds, {self.utilization:.1%} utilization"
        )


class SystolicArray:
    """rows × cols processing elements, each with one multiply-add per cycle."""

    def __init__(self, rows: int, cols: int) -> None:
        fit_integer("SystolicArray", "rows", rows, at_least=1)
        fit_integer("SystolicArray", "cols", cols, at_least=1)
        self.rows = int(rows)
        self.cols = int(cols)

    def matmul(self, a: np.ndarray, b: np.ndarray, dataflow: str = "ws", **options: object) -> Run:
        """a[M,K] b[K,N], both int8 or both bfloat16 -> Run with result[M,N] in int32 or float32.

        double_buffer=False      "ws" only: a tile's weights come in while the one before computes
        engine="vectorised"      or "stepped", cycle by cycle; both give the same to the last bit
        trace=False              step, and keep what every register held in every cycle

        Real TPUs double-buffer: a TPU gets closer to double_buffer=True, but also waits for memory
        and does other work, of which this array knows nothing. Raises ValueError for operands and
        options that do not fit, and for more work than `LIMITS` allows.
        """
        a, b = in_their_sums("matmul", "a[M,K] b[K,N]", a, b)
        return self._run(a, b, dataflow, **options)

    def conv2d(
        self, x: np.ndarray, w: np.ndarray, stride: int = 1, padding: int = 0, **options: object
    ) -> Run:
        """x[N,C,H,W], w[K,C,R,S] -> Run with result[N,K,P,Q]; a matmul [N·P·Q,C·R·S] [C·R·S,K].

        method="im2col"  makes the left matrix in memory; "implicit" reads each of its elements at
                         its address in x when a tile wants it. Else the options of `matmul`.
        """
        method = options.pop("method", "im2col")
        one_of("method", method, "im2col", "implicit")
        itemsize = np.asarray(x).itemsize
        x, w = in_their_sums("conv2d", "x[N,C,H,W] w[K,C,R,S]", x, w)
        patches = Patches(x, w, stride, padding)
        weights = w.reshape(len(w), -1).T  # [C·R·S,K]
        if method == "im2col":
            run = self._run(patches[:, :], weights, **options)
            moved = 2 * itemsize * patches.base.size * patches.offset.size
        else:
            run = self._run(patches, weights, **options)
            moved = 0
        result = run.result.reshape(len(x), *patches.output, len(w))  # [N,P,Q,K]
        return replace(run, result=result.transpose(0, 3, 1, 2), buffer_bytes=moved)

    def schedule(
        self, M: int, K: int, N: int, dataflow: str = "ws", double_buffer: bool = False
    ) -> Run:
        """The Run of a[M,K] b[K,N] without a result: the occupancy of each tile, cycle by cycle."""
        self._check(M, K, N, dataflow, double_buffer)
        product = extent(dataflow, M, K, N)
        tiles = cut(product, self.rows, self.cols)
        load = 0 if dataflow == "os" else self.rows
        occupancy = vectorised.occupancy_by_cycle(
            product, tiles, self.rows, self.cols, load, double_buffer
        )
        return Run(self.rows, self.cols, dataflow, double_buffer, len(tiles), occupancy)

    def _run(
        self,
        a: np.ndarray | Patches,
        b: np.ndarray,
        dataflow: str = "ws",
        double_buffer: bool = False,
        engine: str = "vectorised",
        trace: bool = False,
    ) -> Run:
        one_of("engine", engine, "vectorised", "stepped")
        with np.errstate(over="ignore", invalid="ignore"):  # hardware does not warn either
            if trace or engine == "stepped":
                return self._stepped(a, b, dataflow, double_buffer, bool(trace))
            M, K = a.shape
            run = self.schedule(M, K, b.shape[1], dataflow, double_buffer)
            depth = K if dataflow == "os" else self.rows
            return replace(run, result=vectorised.multiply(a, b, depth))

    def _stepped(
        self,
        a: np.ndarray | Patches,
        b: np.ndarray,
        dataflow: str,
        double_buffer: bool,
        trace: bool,
    ) -> Run:
        """Step the registers until the last number is through, and count what they do."""
        M, K = a.shape
        self._check(M, K, b.shape[1], dataflow, double_buffer, stepped=True, trace=trace)
        grid = Grid(dataflow, a, b, self.rows, self.cols)
        occupancy = []
        seen = []
        for phase, tile in _stepper(dataflow, double_buffer)(grid):
            draining = dataflow == "os" and phase == "drain"
            if not draining:
                occupancy.append(np.count_nonzero(grid.active()))
            if trace:
                seen.append(grid.snapshot(phase, tile, double_buffer))
        return Run(
            self.rows,
            self.cols,
            dataflow,
            double_buffer,
            tiles=len(grid.tiles),
            occupancy=np.array(occupancy),
            result=grid.result,
            trace=seen if trace else None,
        )

    def _check(
        self,
        M: int,
        K: int,
        N: int,
        dataflow: str,
        double_buffer: bool,
        stepped: bool = False,
        trace: bool = False,
    ) -> None:
        """Are the arguments right, and the run short enough for what is to be done with it?"""
        count = cycles(dataflow, M, K, N, self.rows, self.cols, double_buffer)
        _limit("tiles", count_tiles(extent(dataflow, M, K, N), self.rows, self.cols))
        _limit("cycles with their occupancy", count)
        if stepped:
            in_a_cycle = max(1000, self.rows**2, self.cols**2)  # delay lines at an edge are square
            _limit("register updates", count * in_a_cycle)
        if trace:
            _limit("register values of a trace", 3 * count * self.rows * self.cols)


def _stepper(dataflow: str, double_buffer: bool) -> Callable[[Grid], Iterator[tuple[str, int]]]:
    """What steps a grid through this dataflow."""
    if double_buffer:
        return flows.double_buffered
    return flows.output_stationary if dataflow == "os" else flows.weight_stationary


def _limit(what: str, count: int) -> None:
    """ValueError where that many of what `LIMITS` names are too many."""
    if count > LIMITS[what]:
        limit = f"the limit is {LIMITS[what]:,}. Take smaller matrices or another array."
        raise ValueError(f"{count:,} {what} are too many: {limit}")
