"""numba_simt.random: the bits of Numba's own functions, which a CPU runs, over 10,000 states."""

import numpy as np
import pytest

from numba_simt import cuda, profile, random
from numba_simt.errors import CompileError, Missing, UsageError

numba = pytest.importorskip("numba")
STATES = 10_000
DRAWS = {
    "xoroshiro128p_next": np.uint64,
    "xoroshiro128p_uniform_float32": np.float32,
    "xoroshiro128p_uniform_float64": np.float64,
    "xoroshiro128p_normal_float32": np.float32,
    "xoroshiro128p_normal_float64": np.float64,
}


@pytest.fixture(scope="module")
def numbas():
    return pytest.importorskip("numba.cuda.random")


@pytest.mark.parametrize(("seed", "start"), [(1, 0), (42, 3), (-7, 0), (2**64 - 1, 1)])
def test_states_are_numbas(numbas, seed, start):
    expected = np.empty(STATES, numbas.xoroshiro128p_dtype)
    numbas.init_xoroshiro128p_states_cpu(expected, np.uint64(seed % 2**64), start)
    found = random.create_xoroshiro128p_states(STATES, seed, start)
    assert found.dtype == numbas.xoroshiro128p_dtype
    assert np.array_equal(found.copy_to_host(), expected)


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_numbas(numbas, name):
    ours, theirs = getattr(random, name), getattr(numbas, name)

    @cuda.jit
    def draw(states, out):
        i = cuda.grid(1)
        if i < states.shape[0]:
            for k in range(out.shape[0]):
                out[k, i] = ours(states, i)

    @numba.njit
    def oracle(states, out):
        for i in range(states.shape[0]):
            for k in range(out.shape[0]):
                out[k, i] = theirs(states, i)

    states = random.create_xoroshiro128p_states(STATES, 2024)
    host = states.copy_to_host()
    found, expected = np.zeros((2, 3, STATES), DRAWS[name])
    draw[(STATES + 255) // 256, 256](states, found)
    oracle(host, expected)
    assert np.array_equal(found, expected)
    assert np.array_equal(states.copy_to_host(), host)
    assert len(np.unique(found)) > 0.99 * min(found.size, 2**20)


def test_a_jump_and_a_state_from_a_seed_in_a_kernel():
    @cuda.jit
    def jump(states):
        i = cuda.grid(1)
        random.init_xoroshiro128p_state(states, i, 5)
        for _ in range(i):
            random.xoroshiro128p_jump(states, i)

    states = cuda.device_array(4, random.xoroshiro128p_dtype)
    jump[1, 4](states)
    expected = random.create_xoroshiro128p_states(4, 5).copy_to_host()
    assert np.array_equal(states.copy_to_host(), expected)


def test_the_start_of_a_subsequence_may_be_far_away():
    near = random.create_xoroshiro128p_states(6, 1, 2**40).copy_to_host()
    far = random.create_xoroshiro128p_states(3, 1, 2**40 + 3).copy_to_host()
    assert np.array_equal(near[3:], far)


def test_states_in_a_kernel_are_an_array_of_records():
    @cuda.jit
    def look(states, out):
        out[0] = states.size
        out[1] = states.shape[0]
        out[2] = states.ndim
        out[3] = len(states)
        out[4] = states[1]["s1"]
        out[5] = states[1].s0
        states[0]["s0"] = 7

    states, out = random.create_xoroshiro128p_states(5, 1), np.zeros(6, np.uint64)
    host = states.copy_to_host()
    look[1, 1](states, out)
    assert out.tolist() == [5, 5, 1, 5, host["s1"][1], host["s0"][1]]
    assert states.copy_to_host()["s0"][0] == 7
    look[1, 1](host, out)
    assert host["s0"][0] == 7


def test_threads_that_share_a_state_race():
    @cuda.jit
    def draw(states, out):
        out[cuda.grid(1)] = random.xoroshiro128p_uniform_float32(states, 0)

    found = profile(draw, 1, 64, random.create_xoroshiro128p_states(1, 1), np.zeros(64, np.float32))
    assert {hazard.kind for hazard in found.hazards} >= {"race"}


def test_what_is_refused():
    @cuda.jit
    def whole(states):
        states[0] = states[1]

    @cuda.jit
    def field(states):
        states[0]["s2"] = 1

    states = random.create_xoroshiro128p_states(4, 1)
    for kernel, why in ((whole, "assign its fields"), (field, 'are "s0" and "s1"')):
        with pytest.raises(CompileError, match=why):
            kernel[1, 1](states)
    with pytest.raises(UsageError, match="copy it first"):
        whole[1, 1](states[::2])
    with pytest.raises(UsageError, match="1-D array of xoroshiro128p_dtype"):
        random.init_xoroshiro128p_states_cpu(np.zeros(3), 1, 0)
    with pytest.raises(Missing, match=r"names of numba\.cuda\.random"):
        random.philox()
    assert str(random.xoroshiro128p_type).startswith("Record(s0")
