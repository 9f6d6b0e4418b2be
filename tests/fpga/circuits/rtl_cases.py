"""What the tests of the RTL share: an integer oracle, random layers, and both engines."""

import numpy as np

from labkit.fpga.library import library
from labkit.fpga.running.stalls import random_stalls
from labkit.fpga.simulate import Simulation, simulate

SHARE = 0.4  # of the cycles that a random stall takes


def int8(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """All of -128..127, both ends among them."""
    drawn = rng.integers(-128, 128, shape).astype(np.int8)
    drawn.flat[:2] = (-128, 127)
    return drawn


def conv(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """y[n,k,i,j] = sum over c, r, s of w[k,c,r,s] x[n,c,i+r-1,j+s-1], in int64."""
    H, W = x.shape[2:]
    padded = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    total = np.zeros((len(x), len(w), H, W), np.int64)
    for r in range(3):
        for s in range(3):
            shifted = padded[:, :, r : r + H, s : s + W]
            total += np.einsum("kc,nchw->nkhw", w[:, :, r, s].astype(np.int64), shifted)
    return total


def requantized(acc, bias, multiplier, shift, low):
    """int64 acc[N,K,...] -> what the layer hands on, without labkit's own requantisation."""
    along = (-1, *[1] * (acc.ndim - 2))
    scaled = (acc + bias.reshape(along)) * multiplier.reshape(along).astype(np.int64)
    return np.clip((scaled + (1 << (shift - 1))) >> shift, low, 127)


def parameters(rng: np.random.Generator, K: int):
    """bias[K], multiplier[K] over all of their ranges that matter, and a shift."""
    bias = rng.integers(-50_000, 50_000, K).astype(np.int32)
    multiplier = rng.integers(0, 2**16, K).astype(np.int32)
    multiplier[:2] = (0, 2**16 - 1)
    return bias, multiplier, 26


def stalled(top_streams: str, seed: int = 0) -> dict[str, np.ndarray]:
    """Random stalls on every stream named."""
    return {name: random_stalls(SHARE, seed + i) for i, name in enumerate(top_streams.split())}


def run(top: str, inputs: dict, words: int, engine: str = "verilator", **options) -> Simulation:
    """One simulation of a module of ours, in which nothing breaks the rules of a stream."""
    simulation = simulate(library(top), top, inputs, engine, words=words, **options)
    assert simulation.violations == []
    return simulation


def both(top: str, inputs: dict, words: int, **options) -> Simulation:
    """The same run in both engines, which agree in every port in every cycle."""
    first = run(top, inputs, words, "cxxrtl", **options)
    second = run(top, inputs, words, "verilator", **options)
    assert first.trace == second.trace
    return first
