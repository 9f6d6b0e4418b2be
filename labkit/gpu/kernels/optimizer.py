"""Gradient descent with momentum, in one pass over the weights. (Lesson 01_gpu/6.)"""

from numpy import float32

from labkit.gpu import cuda
from labkit.gpu.kernels import Plan
from labkit.gpu.kernels.pointwise import EACH, load_tile, plan_tiles, store_tile


@cuda.jit
def sgd_momentum(p, g, v, lr, momentum):
    """v <- momentum v + g;  p <- p - lr v;  flat float32[size], lr and momentum np.float32"""
    gradients = cuda.local.array(EACH, float32)
    parameters = cuda.local.array(EACH, float32)
    velocities = cuda.local.array(EACH, float32)
    load_tile(g, gradients)
    load_tile(p, parameters)
    load_tile(v, velocities)
    for i in range(EACH):
        velocities[i] = momentum * velocities[i] + gradients[i]
        parameters[i] -= lr * velocities[i]
    store_tile(p, parameters)
    store_tile(v, velocities)


def plan_sgd_momentum(size: int) -> Plan:
    """sgd_momentum(p, g, v, lr, momentum): three reads and two writes for each weight.

    PyTorch's convention: velocities start at 0. Oracle: labkit.reference.sgd.
    """
    return plan_tiles(sgd_momentum, size)
