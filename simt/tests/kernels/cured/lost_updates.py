"""Lost updates: the operation tells which atomic."""

import numpy as np
from numba import int32

from .. import cuda, integers, zeros
from .pairs import N, count, count_rows, keys, mended, races, tables, whole


@races(r"barrier does not help.*cuda\.atomic\.add\(n, 0, 1\)", whole(N), lambda x, n: [N], block=N)
@cuda.jit
def counter_in_global(x, n):
    n[0] += 1


@mended(counter_in_global)
@cuda.jit
def counter_in_global_mended(x, n):
    cuda.atomic.add(n, 0, 1)


@races(r"cuda\.atomic\.add\(s, 0, x\[t\]\)", whole(N), lambda x, n: [x.sum()])
@cuda.jit
def sum_in_shared(x, n):
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = 0
    cuda.syncthreads()
    s[0] += x[t]
    cuda.syncthreads()
    if t == 0:
        n[0] = s[0]


@mended(sum_in_shared)
@cuda.jit
def sum_in_shared_mended(x, n):
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(s, 0, x[t])
    cuda.syncthreads()
    if t == 0:
        n[0] = s[0]


@races(r"cuda\.atomic\.add\(h, x\[cuda\.grid\(1\)\], 1\)", keys(2 * N, 5), count, grid=2)
@cuda.jit
def histogram_in_one_line(x, h):
    h[x[cuda.grid(1)]] += 1


@mended(histogram_in_one_line)
@cuda.jit
def histogram_in_one_line_mended(x, h):
    cuda.atomic.add(h, x[cuda.grid(1)], 1)


@races(r"cuda\.atomic\.add\(h, b, \.\.\.\)", keys(2 * N, 5), count, grid=2)
@cuda.jit
def histogram_in_three_lines(x, h):
    b = x[cuda.grid(1)]
    old = h[b]
    new = old + 1
    h[b] = new


@mended(histogram_in_three_lines)
@cuda.jit
def histogram_in_three_lines_mended(x, h):
    b = x[cuda.grid(1)]
    cuda.atomic.add(h, b, 1)


@races(r"cuda\.atomic\.add\(s, x\[i\], \.\.\.\)", keys(5 * N, 7, np.int32), count)
@cuda.jit
def histogram_of_strides(x, h):
    s = cuda.shared.array(7, int32)
    t = cuda.threadIdx.x
    if t < 7:
        s[t] = 0
    cuda.syncthreads()
    for i in range(t, x.size, cuda.blockDim.x):
        s[x[i]] = 1 + s[x[i]]
    cuda.syncthreads()
    if t < 7:
        cuda.atomic.add(h, t, s[t])


@mended(histogram_of_strides)
@cuda.jit
def histogram_of_strides_mended(x, h):
    s = cuda.shared.array(7, int32)
    t = cuda.threadIdx.x
    if t < 7:
        s[t] = 0
    cuda.syncthreads()
    for i in range(t, x.size, cuda.blockDim.x):
        cuda.atomic.add(s, x[i], 1)
    cuda.syncthreads()
    if t < 7:
        cuda.atomic.add(h, t, s[t])


@races(r"cuda\.atomic\.add\(h, \(x\[t\], 0\), 2\)", tables, lambda x, h: 2 * count_rows(x, h))
@cuda.jit
def counted_in_two_branches(x, h):
    t = cuda.threadIdx.x
    if t % 2:
        h[x[t], 0] += 2
    else:
        h[x[t], 0] += 2


@mended(counted_in_two_branches)
@cuda.jit
def counted_in_two_branches_mended(x, h):
    t = cuda.threadIdx.x
    cuda.atomic.add(h, (x[t], 0), 2)


@races(r"cuda\.atomic\.max\(m, 0, \.\.\.\)", whole(N, -50, 90, -99), lambda x, m: [x.max()])
@cuda.jit
def largest(x, m):
    m[0] = max(m[0], x[cuda.threadIdx.x])


@mended(largest)
@cuda.jit
def largest_mended(x, m):
    cuda.atomic.max(m, 0, x[cuda.threadIdx.x])


@races(
    r"look and write in one: cuda\.atomic\.min\(m, 0, ",
    whole(N, -50, 90, 99),
    lambda x, m: [x.min()],
)
@cuda.jit
def smallest_after_a_look(x, m):
    t = cuda.threadIdx.x
    if x[t] < m[0]:
        m[0] = x[t]


@mended(smallest_after_a_look)
@cuda.jit
def smallest_after_a_look_mended(x, m):
    cuda.atomic.min(m, 0, x[cuda.threadIdx.x])


@races(r"cuda\.atomic\.add\(n, 0, -\(x\[t\]\)\)", whole(N, start=500), lambda x, n: [500 - x.sum()])
@cuda.jit
def stock(x, n):
    t = cuda.threadIdx.x
    n[0] -= x[t]


@mended(stock)
@cuda.jit
def stock_mended(x, n):
    t = cuda.threadIdx.x
    cuda.atomic.add(n, 0, -x[t])


@races(
    r"cuda\.atomic\.sub\(n, 0, x\[t\]\)",
    whole(N, start=500, dtype=np.float32),
    lambda x, n: [500 - x.sum()],
)
@cuda.jit
def stock_of_floats(x, n):
    t = cuda.threadIdx.x
    n[0] -= x[t]


@mended(stock_of_floats)
@cuda.jit
def stock_of_floats_mended(x, n):
    t = cuda.threadIdx.x
    cuda.atomic.sub(n, 0, x[t])


@races(
    r"cuda\.atomic\.or_\(n, 0, 1 << x\[t\]\)",
    whole(N),
    lambda x, n: [np.bitwise_or.reduce(1 << x)],
)
@cuda.jit
def marks(x, n):
    t = cuda.threadIdx.x
    n[0] |= 1 << x[t]


@mended(marks)
@cuda.jit
def marks_mended(x, n):
    t = cuda.threadIdx.x
    cuda.atomic.or_(n, 0, 1 << x[t])


@races(
    r"cuda\.atomic\.xor\(n, 0, x\[t\]\)",
    whole(N),
    lambda x, n: [np.bitwise_xor.reduce(x)],
)
@cuda.jit
def parity(x, n):
    t = cuda.threadIdx.x
    n[0] ^= x[t]


@mended(parity)
@cuda.jit
def parity_mended(x, n):
    t = cuda.threadIdx.x
    cuda.atomic.xor(n, 0, x[t])


@races(
    r"repeat cuda\.atomic\.cas.*element of its own",
    lambda r: (integers(r, 1, 3, 16), np.ones(1, np.int64)),
    lambda x, n: [x.prod()],
    block=16,
)
@cuda.jit
def product(x, n):
    n[0] *= x[cuda.threadIdx.x]


@mended(product)
@cuda.jit
def product_mended(x, n):
    own = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    own[t] = x[t]
    cuda.syncthreads()
    if t == 0:
        for k in range(16):
            n[0] *= own[k]


@races(
    r"cuda\.atomic\.cas\(owner, 0, ",
    lambda r: (zeros(1, dtype=np.int32), zeros(1, dtype=np.int32)),
    lambda owner, n: [1],
)
@cuda.jit
def claimed_after_a_look(owner, n):
    i = cuda.threadIdx.x + 1
    if owner[0] == 0:
        owner[0] = i
        cuda.atomic.add(n, 0, 1)


@mended(claimed_after_a_look)
@cuda.jit
def claimed_after_a_look_mended(owner, n):
    i = cuda.threadIdx.x + 1
    if cuda.atomic.cas(owner, 0, 0, i) == 0:
        cuda.atomic.add(n, 0, 1)


@races(r"no atomic for int8", whole(N, dtype=np.int8), lambda x, n: [N])
@cuda.jit
def counter_of_bytes(x, n):
    n[0] += 1


@mended(counter_of_bytes)
@cuda.jit
def counter_of_bytes_mended(x, n):
    total = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        total[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(total, 0, 1)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        n[0] = total[0]
