"""The linear layer: y = x w^T + b and its gradients, as three products of register tiles.

x[N, D], w[K, D], b[K], y[N, K], float32. Oracles: labkit.reference.linear and linear_backward.
db is column_sum of labkit.gpu.kernels.reductions. Derived in lesson 01_gpu/1.
"""

from typing import Any

from labkit.gpu import cuda
from labkit.gpu.kernels import Plan
from labkit.gpu.kernels.register_tiles import choose_tile, launch, load, register_tile, store


@cuda.jit(device=True)
def load_turned(array, row, column):
    """array^T[row, column], 0 outside"""
    return load(array, column, row)


@cuda.jit(device=True)
def store_biased(y, n, k, value, b):
    y[n, k] = value + b[k]


def plan_linear(N: int, K: int, D: int) -> Plan:
    """kernel(x, w, b, y, N, K, D): y[n, k] = b[k] + sum over d of x[n, d] w[k, d]"""
    return _plan(N, K, load, load_turned, store_biased, load_b_along="k", bias=True, name="linear")


def plan_linear_dx(N: int, D: int, K: int) -> Plan:
    """kernel(dy, w, dx, N, D, K): dx[n, d] = sum over k of dy[n, k] w[k, d]"""
    return _plan(N, D, load, load, store, name="linear_dx")


def plan_linear_dw(K: int, D: int, N: int) -> Plan:
    """kernel(dy, x, dw, K, D, N): dw[k, d] = sum over n of dy[n, k] x[n, d]"""
    return _plan(K, D, load_turned, load, store, load_a_along="m", name="linear_dw")


def _plan(rows: int, columns: int, *parts: Any, **options: Any) -> Plan:
    tile = choose_tile(rows, columns)
    return Plan(register_tile(*parts, tile, **options), *launch(rows, columns, tile))
