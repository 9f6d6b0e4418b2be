"""The linear layer: y = x w^T + b and its gradients, as three products of register tiles.

x[N, D], w[K, D], b[K], y[N, K], float32. Oracles: labkit.reference.linear and linear_backward.
db is column_sum of labkit.gpu.kernels.reductions. Derived in lesson gradients.
"""

from collections.abc import Callable
from typing import Any

from labkit.gpu import cuda
from labkit.gpu.kernels import Plan
from labkit.gpu.kernels.tile_factory import register_tile
from labkit.gpu.kernels.tile_sizes import choose_tile, grid_and_block
from labkit.gpu.kernels.vectors import load, store


@cuda.jit(device=True)
def load_turned(array, row, column):
    """array^T[row, column], 0 outside"""
    return load(array, column, row)


@cuda.jit(device=True)
def store_biased(y, n, k, value, b):
    """y[n, k] = value + b[k]"""
    y[n, k] = value + b[k]


def plan_linear(N: int, K: int, D: int) -> Plan:
    """kernel(x, w, b, y, N, K, D): y[n, k] = b[k] + sum over d of x[n, d] w[k, d]"""
    options = {"load_b_along": "k", "bias": True, "name": "linear"}
    return _plan(N, K, load, load_turned, store_biased, options)


def plan_linear_dx(N: int, D: int, K: int) -> Plan:
    """kernel(dy, w, dx, N, D, K): dx[n, d] = sum over k of dy[n, k] w[k, d]"""
    return _plan(N, D, load, load, store, {"name": "linear_dx"})


def plan_linear_dw(K: int, D: int, N: int) -> Plan:
    """kernel(dy, x, dw, K, D, N): dw[k, d] = sum over n of dy[n, k] x[n, d]"""
    options = {"load_a_along": "m", "name": "linear_dw"}
    return _plan(K, D, load_turned, load, store, options)


def _plan(
    rows: int,
    columns: int,
    load_a: Callable,
    load_b: Callable,
    store_c: Callable,
    options: dict[str, Any],
) -> Plan:
    """The register tile for a result of [rows, columns]; `options` are those of register_tile."""
    tile = choose_tile(rows, columns)
    kernel = register_tile(load_a, load_b, store_c, tile, **options)
    grid, block = grid_and_block(rows, columns, tile)
    return Plan(kernel, grid, block)
