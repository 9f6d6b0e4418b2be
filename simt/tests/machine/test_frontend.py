"""Kernels compiled by the front end, run by the machine, against the same lines run by Python."""

import cmath
import math
import random
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

numba = pytest.importorskip("numba")
from numba import complex64, float32, int8, int32, uint8  # noqa: E402

from numba_simt import cuda  # noqa: E402
from numba_simt.errors import CompileError  # noqa: E402
from numba_simt.execution.machine import run  # noqa: E402
from numba_simt.ops import OPS  # noqa: E402
from numba_simt.translation.frontend import compile_kernel  # noqa: E402

TABLE = np.array([3, 1, 4, 1, 5, 9, 2, 6])


def compiled(kernel, *arguments):
    return compile_kernel(kernel, tuple(map(numba.typeof, arguments)))


def launch(kernel, *arguments, block=32, shared=0):
    outcome = run(compiled(kernel, *arguments), (1, 1, 1), (block, 1, 1), list(arguments), shared)
    assert outcome.completed, outcome.hazards


def by_python(kernel, *arguments, threads=32):
    """Runs the kernel's own lines thread after thread, device functions too."""
    place = SimpleNamespace()
    world = dict(kernel.__globals__, cuda=SimpleNamespace(grid=lambda _: place.thread))
    for name, thing in world.items():
        if (function := getattr(thing, "py_func", None)) is not None:
            world[name] = FunctionType(function.__code__, world, name, function.__defaults__)
    plain = FunctionType(kernel.__code__, world)
    for place.thread in range(threads):
        plain(*arguments)


@cuda.jit(device=True)
def find(value, start):
    for place in range(start, 8):
        if TABLE[place] == value:
            return place
    return -1


@cuda.jit(device=True)
def ordered(a, b=4):
    if a > b:
        return b, a
    return a, b


@cuda.jit(device=True)
def steps(n):
    count = 0
    while True:
        if n == 1:
            return count
        n = 3 * n + 1 if n % 2 else n // 2
        count += 1


@cuda.jit(device=True)
def shifted(x):
    y = x  # takes nothing over from x
    y += 1
    return x * 100 + y


def while_with_else(out):
    i, n, count = cuda.grid(1), cuda.grid(1) + 1, 0
    while n != 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        count += 1
        if count > 15:
            break
    else:
        count += 1000
    out[i, 0] = count


def continue_and_break(out):
    i, total, last = cuda.grid(1), 0, 0
    for j in range(20):
        if j % 3 == i % 3:
            continue
        double = j * 2
        if j > 12 + i % 9:
            break
        total += double
        last = double
    else:
        total += 10_000
    out[i, 0], out[i, 1], out[i, 2] = total, last, j


def nested(out):
    i, total = cuda.grid(1), 0
    if i >= 30:
        return
    for a in range(i % 5):
        for b in range(a, 7):
            if (a + b + i) % 4 == 0:
                continue
            if b > 5:
                break
            w = 0
            while w < b:
                w += 1
                if w == 3 and i % 2:
                    break
            total += w
        else:
            total += 100
    out[i, 0] = total


def lanes_keep_their_own(out):
    """Variables that look the same in all lanes, but are not."""
    i, total = cuda.grid(1), 0
    k = 0
    for turn in range(8):
        if i % 2 == turn % 2:
            if turn % 4 < 2:
                x = turn
            if turn > 2:
                total = total * 10 + x
    while k < 8:
        if i % 5 == k:
            break
        k += 1
    if i > 3:  # noqa: SIM108
        u = 9
    else:
        u = 7
    out[i, 0], out[i, 1] = total * 100 + k, u


def device_functions(out):
    i = cuda.grid(1)
    low, high = ordered(i)
    out[i, 0], out[i, 1] = low, high
    out[i, 2] = find(i % 10, 0) * 100 + find(1, i % 5)
    total = 0
    for j in range(3):
        total += steps(i + 1) if (i + j) % 2 else -steps(j + 1)
    out[i, 3] = total
    low, high = ordered(b=high, a=i * 2)
    out[i, 4] = low * 100 + high + shifted(i + 2)


def ranges(out):
    i, total = cuda.grid(1), 0
    for j in range(9, -9, -3):
        total = total * 3 + j
    for j in range(i, 40, 7):
        total += j
    for j in range(0, 10, i - 16 if i != 16 else 1):
        total += j * 5
    for j in range(5):
        j = j * 2
        total += j
    for j in range(3):
        for j in range(2):
            total += j
    out[i, 0], out[i, 1] = total, j


def conditions(out):
    i, n = cuda.grid(1), 7
    v = TABLE[i] if i < n else -1
    w = TABLE[i - 1] if i > 0 and i - 1 < n and TABLE[i - 1] > 2 else v
    if (0 <= i <= n - 1 and TABLE[i] > 3) or i == 31:
        w += 100
    inside = (i < n and TABLE[i] > 3) or i == 30
    y = (TABLE[i % 8] > 2 and i) or 7
    out[i, 0] = v + w if (i < 3 or i > 10) and i != 5 else (i if i % 2 else 50)
    out[i, 1], out[i, 2] = inside, y


def tuples_and_swaps(out):
    i = cuda.grid(1)
    a, b = i, 2 * i
    for _ in range(5):
        a, b = b, a + b
    pair = (a, b)
    if i % 2:
        pair = (b, a)
    x = y = i * 2 + 1
    x += 1
    out[i, 0], out[i, 1], out[i, 2], out[i, 3] = a, b, pair[0] - pair[1], x * 100 + y
    out[i, i % 3] += i  # the index is computed once
    out[i, -1] -= len(pair) + out.shape[1]


def views(out):
    i = cuda.grid(1)
    row = out[i]
    row[0] = 5
    part, back = row[1:-1:2], row[::-1]
    for j in range(part.shape[0]):
        part[j] = j + 10
    back[0] = len(back) * 100 + back.size
    out.T[2, i] = TABLE[2:][i % 4] + TABLE[::-2][i % 3] + TABLE[-3:][1] + TABLE[i % 8 : 6].shape[0]
    window = out[:, 3:][i]
    window[0] += window.shape[0] + i


BY_PYTHON = (while_with_else, continue_and_break, nested, lanes_keep_their_own, device_functions)
BY_PYTHON += (ranges, conditions, tuples_and_swaps, views)


@pytest.mark.parametrize("kernel", BY_PYTHON, ids=lambda k: k.__name__)
def test_a_kernel_does_what_its_lines_do_in_python(kernel):
    out, expected = np.zeros((2, 32, 5), np.int64)
    launch(kernel, out)
    by_python(kernel, expected)
    np.testing.assert_array_equal(out, expected)


def _random_block(rng, depth, loop, names):
    """Lines of random assignments, branches and loops over `names`."""

    def value():
        return rng.choice([*names, "i", str(rng.randint(-4, 9)), f"TABLE[{rng.choice(names)} % 8]"])

    def condition():
        parts = [f"{value()} {rng.choice(['<', '>=', '!='])} {value()}" for _ in range(2)]
        return rng.choice(["{}", "{} and {}", "{} or {}"]).format(*parts)

    lines = []
    for _ in range(rng.randint(2, 4)):
        kind = rng.random()
        if kind < 0.45 or depth == 3:
            symbols = [rng.choice("+-*&^") for _ in range(2)]
            terms = f"{value()} {symbols[0]} {value()} {symbols[1]} {value()}"
            lines.append(f"{rng.choice(names)} = ({terms}) % 97")
        elif kind < 0.65:
            body = _random_block(rng, depth + 1, loop, names)
            lines += [f"if {condition()}:", *body, "else:", *_random_block(rng, 3, loop, names)]
        elif kind < 0.85:
            bound = rng.choice(["3", "i % 4", "i % 3, 5, 2", "4, i % 3, -1", f"{names[0]} % 5"])
            lines += [f"for k{depth} in range({bound}):", *_random_block(rng, depth + 1, 1, names)]
            lines += ["else:", *_random_block(rng, 3, loop, names)] if rng.random() < 0.4 else []
        elif loop:
            lines.append(f"if {condition()}: {rng.choice(['break', 'continue'])}")
        else:
            lines += [f"if {condition()}:", "    out[i, 0] = a", "    return"]
    return [f"    {line}" for line in lines]


@pytest.mark.parametrize("seed", range(40))
def test_random_control_flow(seed, tmp_path):
    body = _random_block(random.Random(seed), 0, 0, ["a", "b", "c"])
    start = ["def kernel(out):", "    i = cuda.grid(1)", "    a, b, c = i, 2, i % 3"]
    source = "\n".join([*start, *body, "    out[i, 0], out[i, 1], out[i, 2] = a, b, c"])
    path = tmp_path / "kernel.py"
    path.write_text(source)
    world = {"cuda": cuda, "TABLE": TABLE}
    exec(compile(source, path, "exec"), world)
    out, expected = np.zeros((2, 32, 5), np.int64)
    launch(world["kernel"], out)
    by_python(world["kernel"], expected)
    np.testing.assert_array_equal(out, expected, err_msg=source)


def test_types_follow_numba():
    def kernel(x, n, h, z, f, wide, ints, half, c):
        i = cuda.grid(1)
        f[i] = x[i] * x[i] + x[i] / float32(3)
        wide[i] = n[i] * x[i]  # int32 and float32 make float64
        ints[i, 0], ints[i, 1] = n[i] * 2_000_000_000, uint8(n[i] * 100)
        ints[i, 2], ints[i, 3] = -n[i] // 3, int8(n[i] * 9) % -5
        half[i] = h[i] * h[i] + h[i]
        c[i] = (z[i] * complex64(1j) + 2).conjugate() * abs(z[i]) + cmath.exp(z[i]).real

    n, out = np.arange(32, dtype=np.int32), np.zeros((32, 4), np.int32)
    x, h = np.linspace(-3, 3, 32, dtype=np.float32), np.linspace(0, 3, 32).astype(np.float16)
    z = (n + 1j * n[::-1]).astype(np.complex64) / 32
    f, wide, half, c = x.copy(), np.zeros(32), h.copy(), np.zeros(32, complex)
    launch(kernel, x, n, h, z, f, wide, out, half, c)
    np.testing.assert_array_equal(f, x * x + x / np.float32(3))
    np.testing.assert_array_equal(wide, n.astype(float) * x)
    np.testing.assert_array_equal(half, h * h + h)
    expected = (z * np.complex64(1j) + 2).conj() * abs(z) + np.exp(z).real
    np.testing.assert_allclose(c, expected, rtol=1e-6)
    long = n.astype(np.int64)
    np.testing.assert_array_equal(out[:, 0], (long * 2_000_000_000).astype(np.int32))
    np.testing.assert_array_equal(out[:, 1], (long * 100).astype(np.uint8))
    np.testing.assert_array_equal(out[:, 2], -long // 3)
    np.testing.assert_array_equal(out[:, 3], (long * 9).astype(np.int8).astype(int) % -5)


def test_functions_of_math_numpy_and_cuda():
    def kernel(x, out):
        i = cuda.grid(1)
        v = x[i]
        out[0, i] = math.sqrt(v) + math.floor(v) + math.atan2(v, 2.0) + math.fmod(v, 0.7)
        out[1, i] = math.exp(-v) + np.maximum(v, 3) + v**2 + v**3 + np.deg2rad(v)
        out[2, i] = min(i, 3) + max(v, 2.5, 1) + abs(-i) + round(2.5) + round(v, 2) + int(v)
        out[3, i] = cuda.fma(v, 2.0, 1.0) + cuda.selp(i < 3, 1, 2) + cuda.libdevice.powf(v, 2.0)
        out[4, i] = cuda.popc(i) + cuda.clz(int32(i)) * 10 + cuda.ffs(i) * 1000 + divmod(i, 5)[1]

    x, out = np.linspace(0.5, 9, 32), np.zeros((5, 32))
    launch(kernel, x, out)
    i = np.arange(32)
    wanted = [np.sqrt(x) + np.floor(x) + np.arctan2(x, 2) + np.fmod(x, 0.7)]
    wanted += [np.exp(-x) + np.maximum(x, 3) + x**2 + x**3 + np.deg2rad(x)]
    wanted += [np.minimum(i, 3) + np.maximum(x, 2.5) + i + 2 + np.round(x, 2) + np.trunc(x)]
    wanted += [2 * x + 1 + np.where(i < 3, 1, 2) + (x.astype(np.float32) ** 2)]
    bits = [
        n.bit_count() + (32 - n.bit_length()) * 10 + (n & -n).bit_length() * 1000 for n in range(32)
    ]
    np.testing.assert_allclose(out, [*wanted, np.array(bits) + i % 5], rtol=1e-6)


def test_shared_memory_barriers_warps_and_atomics():
    def kernel(x, out, total):
        i = cuda.grid(1)
        dynamic = cuda.shared.array(shape=0, dtype=float32)
        a, b = cuda.shared.array((32, 2), "float32"), cuda.shared.array(32, np.float32)
        dynamic[i], a[i, 0], b[i] = x[i], i, 2 * i
        cuda.syncthreads()
        out[i, 0] = dynamic[31 - i] + a[i - 1, 0] + b[(i + 1) % 32]
        out[i, 1] = cuda.syncthreads_count(int32(i < 7)) + 100 * cuda.syncthreads_or(int32(i == 3))
        s = x[i]
        for step in range(5):
            s += cuda.shfl_xor_sync(0xFFFFFFFF, s, 1 << step)
        out[i, 2] = s
        out[i, 3] = cuda.ballot_sync(0xFFFFFFFF, i % 3 == 0)
        old = cuda.atomic.add(total, (0, i % 2), i)
        cuda.atomic.max(total, (1, 0), i)
        out[i, 4] = old >= 0

    x, out, total = np.arange(32, dtype=np.float32), np.zeros((32, 5)), np.zeros((2, 2), np.int32)
    launch(kernel, x, out, total, shared=128)
    i = np.arange(32)
    np.testing.assert_array_equal(out[:, 0], x[::-1] + (i - 1) % 32 + 2 * ((i + 1) % 32))
    mask = np.int64(sum(1 << n for n in range(0, 32, 3))).astype(np.int32)
    np.testing.assert_array_equal(out[:, 1:], np.tile([107, x.sum(), mask, 1], (32, 1)))
    np.testing.assert_array_equal(total, [[i[::2].sum(), i[1::2].sum()], [31, 0]])


def register_tile(a, b, c):
    sums = cuda.local.array((4, 4), float32)
    row, col = cuda.threadIdx.x // 8 * 4, cuda.threadIdx.x % 8 * 4
    for i in range(4):
        for j in range(4):
            sums[i, j] = 0
    for k in range(a.shape[1]):
        for i in range(4):
            for j in range(4):
                sums[i, j] += a[row + i, k] * b[k, col + j]
    for i in range(4):
        for j in range(4):
            c[row + i, col + j] = sums[i, j]


def test_a_register_tile_takes_one_instruction_for_each_access_and_loop():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((16, n)).astype(np.float32) for n in (16, 32))
    c = np.zeros((16, 32), np.float32)
    launch(register_tile, a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-5)
    program = compiled(register_tile, a, b, c)
    line = next(n for n, line in enumerate(program.lines) if "+=" in line.text)
    names = [OPS[op] for op in program.code[program.code[:, 10] == line, 0]]
    assert names == ["LD", "ADD", "LD", "ADD", "LD", "MUL", "ADD", "ST"]
    loops = [OPS[op] for op in program.code[:, 0] if OPS[op] in ("NEXT", "TEST", "JMP", "LOOP")]
    assert loops == ["NEXT"] * 7


REFUSED = {
    "out[0] = undefined": "`undefined` is not defined",
    "out[0] = value; value = 1": "read before anything is assigned",
    "out[0] = by_python(1)": "a function of the host",
    "out[0] = itself(1)": "calls itself",
    "out[0] = sometimes(out[0])": "on every way",
    "out[1.5] = 1": "an index must be an integer, and `1.5` is a float64: write int(1.5)",
    "out[0, 1] = 1": "has 1 indices, not 2",
    "out[:] += 1": "no += for arrays here: loop over",
    "out[0] = out": "numbers are needed here, not the 1-d array out",
    "out[0] = 1 << 2.0": "no `<<` for int64 and float64",
    "out[0] = 1j": "take its .real",
    "return 5": "a kernel returns nothing",
    "x = [1, 2]": "cannot contain `list`: use a tuple",
    "print(out)": "a kernel prints integers, floats",
    "out[0] = f'{out}'": "kernels have no strings",
    "raise out": "cannot be raised: a class",
    "raise ValueError(out[0])": "constant in a kernel",
    "import os": "import it above the kernel",
    "cuda.shared.array(out.shape[0], float32)": "constant integers",
    "cuda.shared.array(3, 'nonsense')": "is no dtype",
    "out[0] = cuda.grid(4)": "1, 2 or 3",
    "cuda.warp_magic()": "cuda.warp_magic is not supported",
    "cuda.syncthreads(3)": "takes other arguments",
    "cuda.atomic.and_(out, 0, 1)": "no atomic.and_ for float64",
    "for x in out[0]: pass": "cannot run over a float64",
    "for x in range(0, 4, 0): pass": "must not be 0",
    "out[0] = math.nothing(1)": "has no .nothing",
}


@cuda.jit(device=True)
def itself(x):
    return itself(x - 1)


MODE = "gpu"


def of_a_mode(mode):
    @cuda.jit
    def kernel(out):
        if mode == "gpu":
            out[0] = 1
        elif mode != "cpu":
            out[0] = there_is_no_such_name  # noqa: F821
        out[1] = MODE == "gpu"
        out[2] = 5 if mode in ("cpu", "tpu") else 6
        if mode == MODE:
            out[3] = 7

    return kernel


@pytest.mark.parametrize(("mode", "wanted"), [("gpu", [1, 1, 6, 7]), ("cpu", [0, 1, 5, 0])])
def test_constant_texts_are_compared(mode, wanted):
    out = np.zeros(4, np.int64)
    of_a_mode(mode)[1, 1](out)
    assert out.tolist() == wanted


@cuda.jit(device=True)
def sometimes(x):
    if x > 1:
        return 3, 4


@pytest.mark.parametrize("line", REFUSED)
def test_what_is_not_supported_is_refused_with_its_line(line, tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(f"# a comment\ndef kernel(out):\n    out[0] += 1\n    {line}\n")
    world = dict(globals())
    exec(compile(path.read_text(), path, "exec"), world)
    with pytest.raises(CompileError) as error:
        compiled(world["kernel"], np.zeros(4))
    assert REFUSED[line] in str(error.value)
    if "calls itself" not in str(error.value):  # that is in the device function
        assert error.value.line == 4 and error.value.text == line
        assert error.value.filename == str(path)


def test_a_kernel_without_source_is_refused():
    world = {}
    exec("def kernel(out): out[0] = 1", world)
    with pytest.raises(CompileError, match="source cannot be read"):
        compiled(world["kernel"], np.zeros(4))
