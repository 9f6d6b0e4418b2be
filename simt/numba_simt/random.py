"""`numba.cuda.random`: the generator xoroshiro128+, with a state for each thread; Numba's own bits.

The generator is that of David Blackman and Sebastiano Vigna (prng.di.unimi.it) with rotations by
55, 14 and 36; a seed becomes a state by a step of SplitMix64. The states of neighbours are 2^64
steps apart. A step is linear over the bits of a state, so that many steps are one matrix.
"""

import math
from functools import cache

import numpy as np

from numba_simt.errors import Missing, UsageError
from numba_simt.launching.arrays import DeviceArray, device_array
from numba_simt.launching.dispatcher import jit

STATE = xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
TWO_PI_FLOAT32 = np.float32(2 * math.pi)
TWO_PI_FLOAT64 = np.float64(2 * math.pi)
_UNIT = 2.0**-53
_BITS = 64  # of a word; a state has two
_JUMP_0, _JUMP_1 = np.uint64(0xBEAC0467EBA5FACB), np.uint64(0xD86B048B86AA9922)
_Matrix = tuple[np.ndarray, np.ndarray]  # uint64 [128]: what becomes of each bit of a state


def __getattr__(name: str) -> object:
    if name == "xoroshiro128p_type":
        from numba.np.numpy_support import from_dtype

        return from_dtype(STATE)
    raise Missing(f"numba_simt.random has no {name}: it has the names of numba.cuda.random.")


@jit(device=True)
def rotl(x, k):
    """x, rotated to the left by k bits: uint64"""
    x = np.uint64(x)
    k = np.uint32(k)
    return (x << k) | (x >> np.uint32(64 - k))


@jit(device=True)
def init_xoroshiro128p_state(states, index, seed):
    """The state of an index from a seed, by SplitMix64"""
    z = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint32(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint32(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint32(31))
    states[index]["s0"] = z
    states[index]["s1"] = z


@jit(device=True)
def xoroshiro128p_next(states, index):
    """64 random bits, uint64; the state of that index makes a step"""
    s0 = states[index]["s0"]
    s1 = states[index]["s1"]
    result = s0 + s1
    s1 ^= s0
    states[index]["s0"] = rotl(s0, 55) ^ s1 ^ (s1 << np.uint32(14))
    states[index]["s1"] = rotl(s1, 36)
    return result


@jit(device=True)
def xoroshiro128p_jump(states, index):
    """The state of that index makes 2^64 steps"""
    s0 = np.uint64(0)
    s1 = np.uint64(0)
    for bit in range(128):
        word = _JUMP_0 if bit < 64 else _JUMP_1
        if word >> np.uint32(bit % 64) & np.uint64(1):
            s0 ^= states[index]["s0"]
            s1 ^= states[index]["s1"]
        xoroshiro128p_next(states, index)
    states[index]["s0"] = s0
    states[index]["s1"] = s1


@jit(device=True)
def uint64_to_unit_float64(x):
    """A float64 in [0, 1) of the upper 53 bits"""
    return (np.uint64(x) >> np.uint32(11)) * _UNIT


@jit(device=True)
def uint64_to_unit_float32(x):
    """The same, rounded to float32"""
    return np.float32(uint64_to_unit_float64(x))


@jit(device=True)
def xoroshiro128p_uniform_float32(states, index):
    """The next float32 of [0, 1), all as likely"""
    return uint64_to_unit_float32(xoroshiro128p_next(states, index))


@jit(device=True)
def xoroshiro128p_uniform_float64(states, index):
    """The next float64 of [0, 1), all as likely"""
    return uint64_to_unit_float64(xoroshiro128p_next(states, index))


@jit(device=True)
def xoroshiro128p_normal_float32(states, index):
    """A normally distributed float32, mean 0 and deviation 1 (Box and Muller), of two steps"""
    u = xoroshiro128p_uniform_float32(states, index)
    v = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(-np.float32(2.0) * math.log(u)) * math.cos(TWO_PI_FLOAT32 * v)


@jit(device=True)
def xoroshiro128p_normal_float64(states, index):
    """A normally distributed float64, of two steps; as in Numba, of two float32"""
    u = xoroshiro128p_uniform_float32(states, index)
    v = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(-np.float64(2.0) * math.log(u)) * math.cos(TWO_PI_FLOAT64 * v)


def create_xoroshiro128p_states(
    n: int, seed: int, subsequence_start: int = 0, stream: object = 0
) -> DeviceArray:
    """A device array of n states, each 2^64 steps behind the one before it.

    The first is `subsequence_start` times 2^64 steps behind the state of the seed.
    """
    states = device_array(n, STATE)
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states


def init_xoroshiro128p_states(
    states: DeviceArray, seed: int, subsequence_start: int = 0, stream: object = 0
) -> None:
    """Fills a device array of states, as create_xoroshiro128p_states does."""
    host = np.empty(states.shape, STATE)
    init_xoroshiro128p_states_cpu(host, seed, subsequence_start)
    states.copy_to_device(host)


def init_xoroshiro128p_states_cpu(states: np.ndarray, seed: int, subsequence_start: int) -> None:
    """Fills an array of the host: 1-D, of states."""
    if states.ndim != 1 or states.dtype != STATE:
        raise UsageError("States are a 1-D array of xoroshiro128p_dtype.")
    n = len(states)
    if not n:
        return
    z = _mixed(int(seed) % 2**64)
    first = np.array([z], np.uint64), np.array([z], np.uint64)
    jump = _jump()
    left = int(subsequence_start) % 2**64
    while left:
        if left & 1:
            first = _applied(jump, *first)
        jump = _applied(jump, *jump)
        left >>= 1
    s0, s1 = first
    jump = _jump()
    while len(s0) < n:  # as many again, that many jumps on
        more = _applied(jump, s0, s1)
        s0 = np.concatenate([s0, more[0]])
        s1 = np.concatenate([s1, more[1]])
        jump = _applied(jump, *jump)
    states["s0"] = s0[:n]
    states["s1"] = s1[:n]


def _mixed(seed: int) -> int:
    """A step of SplitMix64."""
    z = (seed + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


@cache
def _jump() -> _Matrix:
    """2^64 steps: one step, squared 64 times."""
    bits = np.uint64(1) << np.arange(_BITS, dtype=np.uint64)
    none = np.zeros_like(bits)
    s0, s1 = np.concatenate([bits, none]), np.concatenate([none, bits])
    s1 = s1 ^ s0
    matrix = _rotated(s0, 55) ^ s1 ^ s1 << np.uint64(14), _rotated(s1, 36)
    for _ in range(64):
        matrix = _applied(matrix, *matrix)
    return matrix


def _rotated(x: np.ndarray, k: int) -> np.ndarray:
    return x << np.uint64(k) | x >> np.uint64(_BITS - k)


def _applied(matrix: _Matrix, s0: np.ndarray, s1: np.ndarray) -> _Matrix:
    """What becomes of the states (s0, s1); of a matrix's columns: the product."""
    found = np.zeros_like(s0), np.zeros_like(s1)
    for word, of_word in enumerate((s0, s1)):
        for bit in range(_BITS):
            chosen = -(of_word >> np.uint64(bit) & np.uint64(1))  # all bits, or none
            for one, column in zip(found, matrix, strict=True):
                one ^= chosen & column[_BITS * word + bit]
    return found
