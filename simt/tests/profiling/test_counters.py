"""The counters against closed forms, derived here from the rules of the hardware.

Global memory moves in sectors of 32 bytes that begin at multiples of 32; an array begins at one.  A
request is one memory instruction of one warp with an active lane; it costs as many sectors as its
lanes touch, each counted once.

Shared memory has 32 banks of 4-byte words, word w in bank w % 32 (CUDA C++ Programming Guide,
compute capability 5.x).  A pass serves one word of each bank, to any number of lanes: at most 128
bytes.  So 8-byte elements are served by half-warps and 16-byte elements by quarter-warps, in two
and four phases (NVIDIA, GTC 2019, session S9593).  The passes of a phase are the largest number of
different words that its lanes want from one bank, and at least one.
"""

import inspect
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels import cuda, load_float32x4, store_float32x4
from numba import complex64, complex128, float32, float64, int8

from numba_simt import profile

DTYPES = "int8 float16 float32 int32 float64 int64 complex64 complex128".split()


def line(kernel, mark: str) -> int:
    """Number of the kernel's line that ends with the comment `# mark`."""
    source, first = inspect.getsourcelines(kernel.py_func)
    return next(first + k for k, text in enumerate(source) if text.rstrip().endswith(f"# {mark}"))


def at(kernel, mark: str, grid, block, *arguments) -> dict:
    """The counters of the marked line."""
    return profile(kernel, grid, block, *arguments).by_line[line(kernel, mark)]


def warps(threads: int) -> list[range]:
    """The lanes of each warp, as numbers of threads."""
    return [range(first, min(first + 32, threads)) for first in range(0, threads, 32)]


def sectors(addresses, itemsize: int) -> int:
    """Sectors that one request touches, from the byte addresses of its active lanes."""
    return len({byte // 32 for a in addresses for byte in (a, a + itemsize - 1)})


def passes(words_of_lanes: list[list[int]], itemsize: int = 4) -> int:
    """Passes over the banks for a warp, from the words that each lane wants."""
    group = 32 // max(1, itemsize // 4)
    total = 0
    for first in range(0, len(words_of_lanes), group):
        words = {word for lane in words_of_lanes[first : first + group] for word in lane}
        total += max(Counter(word % 32 for word in words).values())
    return total


# Global memory


@cuda.jit
def strided_read(x, out, stride, offset):
    """Lane i reads element offset + i * stride and writes element i."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[offset + i * stride]  # copy


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stride", [1, 2, 3, 4, 8, 9, 32, 33])
@pytest.mark.parametrize("offset", [0, 1, 2, 5, 8])
def test_strides_and_offsets(dtype, stride, offset):
    """Steps of up to 32 bytes touch every sector from first to last byte; larger ones one each."""
    n = 32 * 3 + 7
    x, out = np.ones(offset + n * stride, dtype), np.zeros(n, dtype)
    b = x.itemsize

    def expected(stride, offset):
        total = 0
        for lanes in warps(n):
            first, last = ((offset + i * stride) * b for i in (lanes[0], lanes[-1]))
            dense = (last + b - 1) // 32 - first // 32 + 1
            total += dense if stride * b <= 32 else len(lanes)
        return total

    seen = profile(strided_read, 2, 64, x, out, stride, offset).counters
    assert seen["global_load_requests"] == seen["global_store_requests"] == 4
    assert seen["global_load_sectors"] == expected(stride, offset)
    assert seen["global_store_sectors"] == expected(1, 0)
    assert seen["global_load_bytes"] == seen["global_store_bytes"] == n * b
    assert seen["global_load_sectors_per_request"] == expected(stride, offset) / 4
    touched = {
        byte // 32
        for i in range(n)
        for byte in range((offset + i * stride) * b, (offset + i * stride + 1) * b)
    }
    assert seen["unique_load_sectors"] == len(touched)
    assert seen["unique_store_sectors"] == math.ceil(n * b / 32)


@pytest.mark.parametrize(
    "dtype, stride, offset, expected",
    [
        ("float32", 1, 0, 4),  # coalesced
        ("float32", 1, 1, 5),  # misaligned by one element
        ("float32", 1, 8, 4),  # by a whole sector
        ("float32", 2, 0, 8),
        ("float32", 4, 0, 16),
        ("float32", 8, 0, 32),  # every lane its own sector
        ("float32", 1000, 0, 32),
        ("float32", 0, 3, 1),  # broadcast
        ("int8", 1, 0, 1),
        ("int8", 1, 31, 2),
        ("float16", 1, 0, 2),
        ("float64", 1, 0, 8),
        ("float64", 4, 0, 32),
        ("complex64", 1, 0, 8),
        ("complex128", 1, 0, 16),
        ("complex128", 1, 1, 17),
    ],
)
def test_textbook_numbers(dtype, stride, offset, expected):
    x, out = np.ones(offset + 32 * stride + 1, dtype), np.zeros(32, dtype)
    seen = at(strided_read, "copy", 1, 32, x, out, stride, offset)
    assert (seen["global_load_requests"], seen["global_load_sectors"]) == (1, expected)


@cuda.jit
def backwards(x, out):
    """Descending addresses coalesce like ascending ones."""
    i = cuda.grid(1)
    out[out.size - 1 - i] = x[-1 - i]


def test_order_of_lanes_does_not_matter():
    seen = profile(backwards, 1, 64, np.ones(64, np.float32), np.zeros(64, np.float32)).counters
    assert seen["global_load_sectors"] == seen["global_store_sectors"] == 8


@cuda.jit
def same_element(x, out):
    """All lanes read one element, whose index is written out."""
    out[cuda.grid(1)] = x[2]  # read


@pytest.mark.parametrize("block", [32, 64, 40])
def test_broadcast(block):
    seen = at(same_element, "read", 3, block, np.ones(5), np.zeros(3 * block))
    requests = 3 * math.ceil(block / 32)
    assert seen["global_load_requests"] == seen["global_load_sectors"] == requests
    assert seen["global_load_bytes"] == 3 * block * 8


@cuda.jit
def read_row(a, out):
    """Lane i reads column i of row blockIdx.x."""
    i, row = cuda.threadIdx.x, cuda.blockIdx.x
    out[row, i] = a[row, i]  # read


@cuda.jit
def read_column(a, out):
    """Lane i reads row i of column blockIdx.x."""
    i, column = cuda.threadIdx.x, cuda.blockIdx.x
    out[column, i] = a[i, column]  # read


@pytest.mark.parametrize("columns", [8, 32, 33, 50])
def test_rows_and_columns(columns):
    """A row of 32 floats spans 4 or 5 sectors, as it begins; in a column each lane has its own."""
    a = np.ones((32, columns), np.float32)
    wide = np.ones((32, columns + 32), np.float32)
    rows = [
        sectors(range(4 * r * (columns + 32), 4 * (r * (columns + 32) + 32), 4), 4)
        for r in range(8)
    ]
    out = np.zeros((8, 32), np.float32)
    assert at(read_row, "read", 8, 32, wide, out)["global_load_sectors"] == sum(rows)
    assert at(read_column, "read", 8, 32, a, out)["global_load_sectors"] == 8 * 32


def test_fortran_order_swaps_rows_and_columns():
    a = np.asfortranarray(np.ones((32, 64), np.float32))
    out = np.zeros((8, 32), np.float32)
    assert at(read_column, "read", 8, 32, a, out)["global_load_sectors"] == 8 * 4
    assert at(read_row, "read", 8, 32, a, out)["global_load_sectors"] == 8 * 32


@cuda.jit
def transpose(a, out):
    """Reads rows, writes columns."""
    x, y = cuda.grid(2)
    out[x, y] = a[y, x]


@pytest.mark.parametrize("width", [4, 8, 16, 32])
def test_warps_of_a_two_dimensional_block(width):
    """threadIdx.x runs fastest: a warp of a block `width` wide covers 32 / width rows of it."""
    n, height = 64, 64 // width
    a, out = np.ones((n, n), np.float32), np.zeros((n, n), np.float32)
    seen = profile(transpose, (n // width, n // height), (width, height), a, out).counters
    requests, rows = n * n // 32, 32 // width
    assert seen["global_load_requests"] == seen["global_store_requests"] == requests
    assert seen["global_load_sectors"] == requests * rows * max(1, width * 4 // 32)
    # In the output a lane's row has `rows` neighbouring elements, of 8 to a sector.
    assert seen["global_store_sectors"] == requests * width * max(1, rows * 4 // 32)


@cuda.jit
def gather(x, index, out):
    """The addresses come from the data."""
    i = cuda.grid(1)
    if i < out.size:
        k = index[i]
        out[i] = x[k]  # gather


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 200),
    size=st.integers(1, 500),
    block=st.sampled_from([16, 32, 48, 64]),
    dtype=st.sampled_from(DTYPES),
)
def test_gather_equals_brute_force(seed, n, size, block, dtype):
    """No closed form: the addresses of each warp are counted from the index array."""
    index = np.random.default_rng(seed).integers(0, size, n)
    x, out = np.arange(size).astype(dtype), np.zeros(n, dtype)
    requests = expected = 0
    for start in range(0, n, block):  # warps begin anew with each block
        for lanes in warps(min(block, n - start)):
            requests += 1
            expected += sectors([int(index[start + i]) * x.itemsize for i in lanes], x.itemsize)
    seen = at(gather, "gather", math.ceil(n / block), block, x, index, out)
    np.testing.assert_array_equal(out, x[index])
    assert (seen["global_load_requests"], seen["global_load_sectors"]) == (requests, expected)


def test_counts_follow_the_data():
    """Same kernel, same shapes, other addresses: other counts."""
    x, out = np.ones(1024, np.float32), np.zeros(1024, np.float32)
    ordered, mixed = np.arange(1024), np.random.default_rng(1).permutation(1024)
    expected = sum(sectors(4 * mixed[list(lanes)], 4) for lanes in warps(1024))
    assert at(gather, "gather", 8, 128, x, ordered, out)["global_load_sectors"] == 128
    assert at(gather, "gather", 8, 128, x, mixed, out)["global_load_sectors"] == expected > 800


@cuda.jit
def copy_by_fours(x, out):
    """128-bit accesses."""
    i = 4 * cuda.grid(1)
    a, b, c, d = load_float32x4(x, i)  # load
    store_float32x4(out, i, a, b, c, d)  # store


def test_vector_accesses():
    x, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    load, store = (at(copy_by_fours, mark, 1, 64, x, out) for mark in ("load", "store"))
    assert (load["global_load_requests"], load["global_load_sectors"]) == (2, 32)
    assert (store["global_store_requests"], store["global_store_sectors"]) == (2, 32)
    assert load["global_load_bytes"] == store["global_store_bytes"] == 1024
    np.testing.assert_array_equal(out, x)


# Shared memory


def shared_kernel(dtype, size):
    """Lane i stores element i * stride of a shared array and loads it again."""

    @cuda.jit
    def kernel(out, stride):
        s = cuda.shared.array(size, dtype)
        t = cuda.threadIdx.x
        s[t * stride] = t  # store
        cuda.syncthreads()
        out[t] = s[t * stride]  # load

    return kernel


WORDS = shared_kernel(float32, 1100)
DOUBLES = shared_kernel(float64, 1100)
PAIRS = shared_kernel(complex64, 1100)
WIDE = shared_kernel(complex128, 1100)
BYTES = shared_kernel(int8, 4200)


@pytest.mark.parametrize("stride", [*range(1, 18), 31, 32, 33])
@pytest.mark.parametrize("lanes", [32, 20])
def test_conflicts_of_words(stride, lanes):
    """A stride of n words meets 32 / gcd(n, 32) banks, so a warp has gcd(n, 32) words in each."""
    expected = math.ceil(lanes / (32 // math.gcd(stride, 32)))
    out = np.zeros(lanes, np.float32)
    load, store = (at(WORDS, mark, 1, lanes, out, stride) for mark in ("load", "store"))
    assert load["shared_load_transactions"] == store["shared_store_transactions"] == expected
    assert load["shared_load_conflicts"] == store["shared_store_conflicts"] == expected - 1
    assert load["shared_load_requests"] == store["shared_store_requests"] == 1
    assert load["shared_load_bytes"] == store["shared_store_bytes"] == 4 * lanes


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 6, 8, 16, 32, 33])
def test_conflicts_of_wider_elements(stride):
    """Half-warps meet 16 / gcd(n, 16) pairs of banks, quarter-warps 8 / gcd(n, 8) fours."""
    for kernel, groups, dtype in (
        (DOUBLES, 2, np.float64),
        (PAIRS, 2, np.complex64),
        (WIDE, 4, np.complex128),
    ):
        load = at(kernel, "load", 1, 32, np.zeros(32, dtype), stride)
        expected = groups * math.gcd(stride, 32 // groups)
        assert load["shared_load_transactions"] == expected, dtype
        assert load["shared_load_conflicts"] == expected - groups, dtype


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5, 32, 64, 128])
def test_conflicts_of_bytes(stride):
    """Four bytes share a word, and lanes that want one word are served together."""
    expected = passes([[i * stride // 4] for i in range(32)])
    load = at(BYTES, "load", 1, 32, np.zeros(32, np.int8), stride)
    assert load["shared_load_transactions"] == expected


@cuda.jit
def shared_gather(index, out):
    """Any pattern of reads from a shared array of 256 floats."""
    s = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    for k in range(t, 256, 32):
        s[k] = k
    cuda.syncthreads()
    out[t] = s[index[t]]  # load


@settings(max_examples=40)
@given(st.lists(st.integers(0, 255), min_size=32, max_size=32))
def test_shared_gather_equals_brute_force(index):
    out = np.zeros(32, np.float32)
    load = at(shared_gather, "load", 1, 32, np.array(index), out)
    np.testing.assert_array_equal(out, index)
    assert load["shared_load_transactions"] == passes([[word] for word in index])


def test_broadcast_in_shared():
    """All lanes one word: one pass.  Two words of one bank: two.  Two words of two banks: one."""
    out = np.zeros(32, np.float32)
    for pattern, expected in (([7] * 32, 1), ([7, 39] * 16, 2), ([7, 40] * 16, 1)):
        load = at(shared_gather, "load", 1, 32, np.array(pattern), out)
        assert load["shared_load_transactions"] == expected


@cuda.jit
def tile_columns(a, plain, padded):
    """Rows are written, columns are read, from a tile of 32 and one of 33 columns."""
    s = cuda.shared.array((32, 32), float32)
    p = cuda.shared.array((32, 33), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    s[y, x] = a[y, x]  # rows
    p[y, x] = a[y, x]
    cuda.syncthreads()
    plain[y, x] = s[x, y]  # columns
    padded[y, x] = p[x, y]  # padded columns


def test_padded_tile():
    a = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)
    plain, padded = np.zeros_like(a), np.zeros_like(a)
    seen = profile(tile_columns, 1, (32, 32), a, plain, padded)
    np.testing.assert_array_equal(plain, a.T)
    np.testing.assert_array_equal(padded, a.T)
    by = {
        mark: seen.by_line[line(tile_columns, mark)]
        for mark in ("rows", "columns", "padded columns")
    }
    assert by["rows"]["shared_store_transactions"] == 32
    assert by["columns"]["shared_load_transactions"] == 32 * 32
    assert by["columns"]["bank_conflicts"] == 32 * 31
    assert by["padded columns"]["shared_load_transactions"] == 32
    assert by["padded columns"]["bank_conflicts"] == 0
    assert seen.counters["bank_conflicts"] == 32 * 31


# Arithmetic


@cuda.jit
def matmul(a, b, c, zero):
    """One thread for each output; `zero` has the type of the sum."""
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        acc = zero[0]
        for k in range(a.shape[1]):
            acc += a[i, k] * b[k, j]
        c[i, j] = acc


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (8, 8, 8), (5, 7, 11), (17, 9, 4)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_matmul_does_two_mnk(m, n, k, dtype):
    """A product and a sum for each of the M N K terms, and none for threads outside."""
    a, b, c = (np.ones(shape, dtype) for shape in ((m, k), (k, n), (m, n)))
    grid = (math.ceil(n / 8), math.ceil(m / 4))
    seen = profile(matmul, grid, (8, 4), a, b, c, np.zeros(1, dtype)).counters
    flops = {f"float{bits}": seen[f"flops_fp{bits}"] for bits in (16, 32, 64)}
    assert flops == {name: 2 * m * n * k if name == dtype else 0 for name in flops}
    assert seen["flops"] == (0 if dtype == "int32" else 2 * m * n * k)
    assert seen["global_load_bytes"] == (2 * m * n * k + m * n) * a.itemsize
    np.testing.assert_array_equal(c, k)


@cuda.jit
def polynomial(x, out):
    """Horner's rule: four fused steps of two operations each, then one division."""
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        acc = float32(0)
        for _ in range(4):
            acc = cuda.fma(acc, v, float32(1))  # fma
        out[i] = acc / v  # division


def test_fused_counts_as_two():
    seen = profile(polynomial, 3, 32, np.full(70, 2, np.float32), np.zeros(70, np.float32))
    assert seen.by_line[line(polynomial, "fma")]["flops_fp32"] == 4 * 2 * 70
    assert seen.by_line[line(polynomial, "division")]["flops_fp32"] == 70
    assert seen.counters["flops"] == 9 * 70


@cuda.jit
def promoted(x, out):
    """A Python float is a float64, and so is the product: Numba's costly surprise."""
    i = cuda.grid(1)
    out[i] = x[i] * 0.5  # double
    out[i] += x[i] * float32(0.5)  # single


def test_literals_cost_double_precision():
    seen = profile(promoted, 1, 64, np.ones(64, np.float32), np.zeros(64, np.float32))
    assert seen.by_line[line(promoted, "double")]["flops_fp64"] == 64
    assert seen.by_line[line(promoted, "double")].get("flops_fp32", 0) == 0
    assert seen.by_line[line(promoted, "single")]["flops_fp32"] == 2 * 64


@cuda.jit
def with_root(x, out):
    """One square root for each lane."""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = math.sqrt(x[i])


def test_calls_of_math_functions():
    assert profile(with_root, 2, 32, np.ones(50), np.zeros(50)).counters["special"] == 50


def test_arithmetic_intensity():
    """8 x 8 x 8 in float32: 1,024 FLOP over the bytes of all sectors."""
    a, b, c = (np.ones((8, 8), np.float32) for _ in range(3))
    seen = profile(matmul, (1, 2), (8, 4), a, b, c, np.zeros(1, np.float32)).counters
    # In each step of k a warp reads an element in each of 4 rows of a, and a row of b.
    sectors = 2 * (1 + 8 * (4 + 1) + 4)
    assert seen["traffic_bytes"] == 32 * sectors
    assert seen["arithmetic_intensity"] == pytest.approx(1024 / (32 * sectors))


# Branches, lanes, barriers, atomics


@cuda.jit
def branch_on_data(x, out):
    """The branch goes as the data say."""
    i = cuda.grid(1)
    if x[i] > 0:  # branch
        out[i] = 1  # taken
    else:
        out[i] = 2  # not taken


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 1])
def test_divergent_branches(share):
    """A branch diverges in a warp whose lanes do not agree."""
    x = np.where(np.random.default_rng(4).random(640) < share, 1, -1)
    by_warp = (x > 0).reshape(-1, 32)
    mixed = int((by_warp.any(1) & ~by_warp.all(1)).sum())
    seen = profile(branch_on_data, 10, 64, x, np.zeros(640, np.int32))
    branch = seen.by_line[line(branch_on_data, "branch")]
    assert (branch["branches"], branch["divergent_branches"]) == (20, mixed)
    assert seen.counters["divergent_branches"] == mixed
    taken = seen.by_line.get(line(branch_on_data, "taken"), {})
    assert taken.get("global_store_requests", 0) == by_warp.any(1).sum()
    assert taken.get("global_store_bytes", 0) == 4 * by_warp.sum()
    other = seen.by_line.get(line(branch_on_data, "not taken"), {})
    assert other.get("global_store_requests", 0) == (~by_warp).any(1).sum()


@cuda.jit
def loop_on_data(n, out):
    """Lane i stays in the loop for n[i] rounds."""
    i = cuda.grid(1)
    total = 0
    for k in range(n[i]):  # loop
        total += k  # body
    out[i] = total


def test_divergence_of_a_loop():
    """It diverges when some lanes leave and others stay: for each count but the largest."""
    n = np.random.default_rng(2).integers(0, 9, 128)
    n[32:64] = 5
    seen = profile(loop_on_data, 2, 64, n, np.zeros(128, np.int64))
    expected = sum(len(set(warp)) - 1 for warp in n.reshape(-1, 32))
    assert seen.by_line[line(loop_on_data, "loop")]["divergent_branches"] == expected
    body = seen.by_line[line(loop_on_data, "body")]
    rounds = n.reshape(-1, 32).max(1).sum()
    assert body["lanes"] / body["instructions"] == pytest.approx(n.sum() / rounds)


@cuda.jit
def straight(x, out):
    """No branch at all."""
    i = cuda.grid(1)
    out[i] = 2 * x[i] + 1


@pytest.mark.parametrize(
    "block, ratio", [(32, 1), (16, 0.5), (48, 0.75), (1, 1 / 32), (33, 33 / 64)]
)
def test_active_lanes_of_partial_warps(block, ratio):
    seen = profile(straight, 2, block, np.ones(2 * block), np.zeros(2 * block)).counters
    assert seen["active_lane_ratio"] == ratio
    assert seen["lanes"] == 32 * ratio * seen["instructions"]
    assert seen["divergent_branches"] == 0
    assert seen["global_load_requests"] == 2 * math.ceil(block / 32)


@cuda.jit
def quarter(x, out):
    """Every fourth lane works."""
    t = cuda.threadIdx.x
    if t % 4 == 0:
        out[t] = x[t] + 1  # work


def test_active_lanes_of_a_line():
    work = at(quarter, "work", 1, 64, np.ones(64), np.zeros(64))
    assert work["active_lane_ratio"] == 0.25


@cuda.jit
def barriers(out, rounds):
    """As many barriers as rounds, and one that counts."""
    for _ in range(rounds):
        cuda.syncthreads()  # plain
    out[cuda.grid(1)] = cuda.syncthreads_count(1)  # counting


@pytest.mark.parametrize("block, grid, rounds", [(32, 1, 0), (64, 3, 4), (100, 2, 7)])
def test_barriers_of_each_warp(block, grid, rounds):
    out = np.zeros(block * grid, np.int32)
    seen = profile(barriers, grid, block, out, rounds).counters
    assert seen["barriers"] == grid * math.ceil(block / 32) * (rounds + 1)
    assert (out == block).all()


@cuda.jit
def count_keys(keys, bins):
    """An atomic addition for each key that is not negative."""
    i = cuda.grid(1)
    if i < keys.size and keys[i] >= 0:
        cuda.atomic.add(bins, keys[i], 1)  # atomic


def test_atomics():
    keys = np.random.default_rng(6).integers(-3, 4, 150)
    keys[32:64] = -1
    kept = [(keys[list(lanes)] >= 0).any() for lanes in warps(150)]
    bins = np.zeros(4, np.int64)
    seen = profile(count_keys, 5, 32, keys, bins)
    atomic = seen.by_line[line(count_keys, "atomic")]
    assert (atomic["atomics"], atomic["atomic_lanes"]) == (sum(kept), (keys >= 0).sum())
    assert seen.counters["global_store_requests"] == 0
    np.testing.assert_array_equal(bins, np.bincount(keys[keys >= 0]))


@cuda.jit
def local_sums(x, out):
    """Four running sums in a local array."""
    acc = cuda.local.array(4, float64)
    for k in range(4):
        acc[k] = 0  # clear
    for k in range(x.shape[0]):
        acc[k % 4] += x[k]  # add
    out[cuda.grid(1)] = acc[0]


def test_local_arrays():
    """A load and a store for each step and warp."""
    seen = profile(local_sums, 1, 96, np.ones(10), np.zeros(96))
    assert seen.by_line[line(local_sums, "clear")]["local_stores"] == 3 * 4
    add = seen.by_line[line(local_sums, "add")]
    assert (add["local_loads"], add["local_stores"]) == (3 * 10, 3 * 10)


def test_lines_add_up():
    """What the lines count is what the whole kernel counts."""
    a = np.ones((32, 32), np.float32)
    seen = profile(tile_columns, 1, (32, 32), a, a.copy(), a.copy())
    endings = ("requests", "sectors", "transactions", "instructions", "lanes")
    for name, total in seen.counters.items():
        if name.endswith(endings) and not name.startswith("unique"):
            assert sum(n.get(name, 0) for n in seen.by_line.values()) == total, name
