"""`SystolicArray(rows, cols)`: the matrix unit of a TPU, stepped by its registers or counted whole.

    run = SystolicArray(4, 4).matmul(a, b, dataflow="ws", trace=True)
    run.result, run.cycles, run.utilization, run.trace[0]

int8 operands are summed in int32 and bfloat16 ones in float32, as in the units of TPUs. `cycles` is
the closed form that stands beside the simulation. Lesson 1 of the chapter derives both.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from labkit.shapes import described, fit, fit_integer, fit_windows
from labkit.tpu import dataflow as flows
from labkit.tpu.dataflow import AXES, Cycle, Grid, plan

SUMS = {"int8": np.int32, "bfloat16": np.float32}  # operand -> what its products are summed in
MOST = {"tiles": 1_000_000, "cycles with their occupancy": 50_000_000}
MOST |= {"register updates": 1_000_000_000, "register values of a trace": 200_000}


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
        name = self.dataflow + ", double-buffered," * self.double_buffer
        work = f"{self.tiles:,} tile{'s' * (self.tiles > 1)}, {self.macs:,} useful multiply-adds"
        size, share = f"{self.rows} × {self.cols}", f"{self.utilization:.1%} utilization"
        return f"{name} on {size}: {self.cycles:,} cycles, {work}, {share}"


def cycles(
    dataflow: str, M: int, K: int, N: int, rows: int, cols: int, double_buffer: bool = False
) -> int:
    """The closed form for a[M,K] b[K,N] on R × C elements, with T = M (ws), N (is) or K (os) steps.

    ws, is:  (R + T + R + C - 2) * tiles    load R rows; then the last step meets the last element
    os:      (T + R + C - 2) * tiles        the same without loading, and without the drain
    ws, double-buffered:  R + (tiles - 1) * max(T, R) + T + R + C - 2

    SCALE-Sim uses the first two, and reports one cycle less.
    """
    _one_of("dataflow", dataflow, *AXES)
    _one_of("double_buffer", double_buffer, False, True)
    _one_of("dataflow with double_buffer", dataflow, *["ws"] if double_buffer else AXES)
    for name, size in dict(M=M, K=K, N=N, rows=rows, cols=cols).items():
        fit_integer("SystolicArray", name, size, at_least=1)
    down, along, steps = (dict(M=M, K=K, N=N)[axis] for axis in AXES[dataflow])
    tiles, load = -(-down // rows) * -(-along // cols), 0 if dataflow == "os" else rows
    run = steps + rows + cols - 2
    return load + (tiles - 1) * max(steps, rows) + run if double_buffer else (load + run) * tiles


class SystolicArray:
    """rows × cols processing elements, each with one multiply-add per cycle."""

    def __init__(self, rows: int, cols: int) -> None:
        fit_integer("SystolicArray", "rows", rows, at_least=1)
        fit_integer("SystolicArray", "cols", cols, at_least=1)
        self.rows, self.cols = int(rows), int(cols)

    def matmul(self, a: np.ndarray, b: np.ndarray, dataflow: str = "ws", **options: object) -> Run:
        """a[M,K] b[K,N], both int8 or both bfloat16 -> Run with result[M,N] in int32 or float32.

        double_buffer=False      "ws" only: a tile's weights come in while the one before computes
        engine="vectorised"      or "stepped", cycle by cycle; both give the same to the last bit
        trace=False              step, and keep what every register held in every cycle

        Real TPUs double-buffer: a TPU gets closer to double_buffer=True, but also waits for memory
        and does other work, of which this array knows nothing.
        """
        return self._run(*_operands("matmul", "a[M,K] b[K,N]", a, b), dataflow, **options)

    def conv2d(
        self, x: np.ndarray, w: np.ndarray, stride: int = 1, padding: int = 0, **options: object
    ) -> Run:
        """x[N,C,H,W], w[K,C,R,S] -> Run with result[N,K,P,Q]; a matmul [N·P·Q,C·R·S] [C·R·S,K].

        method="im2col"  makes the left matrix in memory; "implicit" reads each of its elements at
                         its address in x when a tile wants it. Else the options of `matmul`.
        """
        method, size = options.pop("method", "im2col"), np.asarray(x).itemsize
        _one_of("method", method, "im2col", "implicit")
        x, w = _operands("conv2d", "x[N,C,H,W] w[K,C,R,S]", x, w)
        patches, made = Patches(x, w, stride, padding), method == "im2col"
        run = self._run(patches[:, :] if made else patches, w.reshape(len(w), -1).T, **options)
        result = run.result.reshape(len(x), *patches.output, len(w)).transpose(0, 3, 1, 2)
        moved = 2 * size * patches.base.size * patches.offset.size * made
        return replace(run, result=result, buffer_bytes=moved)

    def schedule(
        self, M: int, K: int, N: int, dataflow: str = "ws", double_buffer: bool = False
    ) -> Run:
        """The Run of a[M,K] b[K,N] without a result: the occupancy of each tile, cycle by cycle."""
        self._check(M, K, N, dataflow, double_buffer)
        steps, (_, _, height, width) = plan(dataflow, M, K, N, self.rows, self.cols)
        through = len(wavefront(self.rows, self.cols, steps))  # padding takes as long as numbers
        load = 0 if dataflow == "os" else self.rows
        distance = max(steps, self.rows) if double_buffer else load + through
        occupancy = np.zeros(load + distance * (len(height) - 1) + through, int)
        for tile, size in enumerate(zip(height.tolist(), width.tolist(), strict=True)):
            wave, start = wavefront(*size, steps), load + tile * distance
            occupancy[start : start + len(wave)] += wave
        return Run(self.rows, self.cols, dataflow, double_buffer, len(height), occupancy)

    def _run(self, a, b, dataflow="ws", double_buffer=False, engine="vectorised", trace=False):
        _one_of("engine", engine, "vectorised", "stepped")
        with np.errstate(over="ignore", invalid="ignore"):  # hardware does not warn either
            if trace or engine == "stepped":
                return self._stepped(a, b, dataflow, double_buffer, trace)
            run = self.schedule(*a.shape, b.shape[1], dataflow, double_buffer)
            depth = a.shape[1] if dataflow == "os" else self.rows
            return replace(run, result=multiply(a, b, depth))

    def _stepped(self, a, b, dataflow, double_buffer, trace):
        """Step the registers until the last number is through, and count what they do."""
        self._check(*a.shape, b.shape[1], dataflow, double_buffer, True, bool(trace))
        grid = Grid(dataflow, a, b, self.rows, self.cols)
        step = flows.output_stationary if dataflow == "os" else flows.weight_stationary
        occupancy, seen = [], []
        for phase, tile in (flows.double_buffered if double_buffer else step)(grid):
            if dataflow != "os" or phase != "drain":
                occupancy.append(np.count_nonzero(grid.active()))
            if trace:
                seen.append(grid.snapshot(phase, tile, double_buffer))
        run = Run(self.rows, self.cols, dataflow, double_buffer, len(grid.row), np.array(occupancy))
        return replace(run, result=grid.result, trace=seen if trace else None)

    def _check(self, M, K, N, dataflow, double_buffer, stepped=False, trace=False):
        """Are the arguments right, and the run short enough for what is to be done with it?"""
        count = cycles(dataflow, M, K, N, self.rows, self.cols, double_buffer)
        down, along, _ = (dict(M=M, K=K, N=N)[axis] for axis in AXES[dataflow])
        step = max(1000, self.rows**2, self.cols**2)  # the delay lines at an edge are square
        work = [-(-down // self.rows) * -(-along // self.cols), count]
        work += [stepped * count * step, trace * 3 * count * self.rows * self.cols]
        for what, n in zip(MOST, work, strict=True):
            if n > MOST[what]:
                limit = f"the limit is {MOST[what]:,}. Take smaller matrices or another array."
                raise ValueError(f"{n:,} {what} are too many: {limit}")


@lru_cache
def wavefront(rows: int, cols: int, steps: int) -> np.ndarray:
    """How many elements work in each cycle while `steps` numbers run through rows × cols of them.

    Step m meets element (r,c) in cycle m + r + c. So the count in cycle t is that of the triples
    (m,r,c) with the sum t: the convolution of three rows of ones.
    """
    wave = np.ones(1, int)
    for size in (rows, cols, steps):  # convolved with ones: each the sum of the last `size`
        total = np.cumsum(np.pad(wave, (0, size - 1)))
        wave = total - np.pad(total, (size, 0))[: len(total)]
    wave.flags.writeable = False  # kept, and shared by all tiles of this shape
    return wave


def multiply(a: "np.ndarray | Patches", b: np.ndarray, depth: int) -> np.ndarray:
    """a[M,K] b[K,N], summed as the array does: k ascending within `depth`, then over the tiles.

    float32 sums depend on that order to the last bit. int32 sums do not, since they wrap round, so
    that BLAS may compute them in its own order in float64, which holds them exactly.
    """
    total = np.zeros((a.shape[0], b.shape[1]), b.dtype)
    for k in range(0, a.shape[1], depth):
        left, right = a[:, k : k + depth], b[k : k + depth]
        if b.dtype == np.int32:
            part = (left.astype(float) @ right.astype(float)).astype(np.int64)
        else:
            part = sum(x[:, None] * y for x, y in zip(left.T, right, strict=True))
        total += part.astype(b.dtype)
    return total


class Patches:
    """im2col's matrix [N·P·Q,C·R·S], never made: element (m,k) is x.flat[base[m] + offset[k]].

    x[N,C,H,W] has its zero border; base[npq] is the address of a window's first element and
    offset[crs] the distance of an element of the window from there.
    """

    def __init__(self, x: np.ndarray, w: np.ndarray, stride: int, padding: int) -> None:
        self.output = P, Q = fit_windows("conv2d", x, w.shape[2:], stride, padding)
        x = np.pad(x, [(0, 0)] * 2 + [(padding, padding)] * 2)
        address = np.arange(x.size).reshape(x.shape)
        self.base = address[:, 0, : P * stride : stride, : Q * stride : stride].reshape(-1, 1)
        self.offset = address[0, :, : w.shape[2], : w.shape[3]].ravel()
        self.flat, self.shape = x.ravel(), (self.base.size, self.offset.size)

    def __getitem__(self, at: tuple[slice, slice]) -> np.ndarray:
        rows, columns = at
        return self.flat[self.base[rows] + self.offset[columns]]


def _operands(name: str, axes: str, *arrays: np.ndarray) -> list[np.ndarray]:
    """The arrays in the type of their sums, if the array takes them and their shapes fit."""
    arrays = [np.asarray(array) for array in arrays]
    types = {array.dtype.name for array in arrays}
    if len(types) > 1 or not types <= set(SUMS):
        named = zip(axes.split(), arrays, strict=True)  # "a[M,K]" -> a, its letter
        has = " and ".join(f"{described(text[0], a)} holds {a.dtype}" for text, a in named)
        raise ValueError(
            f"{name}: {has}; the array takes two of int8 or two of bfloat16: use .astype(np.int8) "
            "for whole numbers from -128 to 127, else .astype(ml_dtypes.bfloat16)."
        )
    arrays = [array.astype(SUMS[array.dtype.name]) for array in arrays]
    fit(name, axes, *arrays)
    return arrays


def _one_of(name: str, value: object, *known: str) -> None:
    if value not in known:
        raise ValueError(f"{name} is {value!r}; use {' or '.join(map(repr, known))}.")
