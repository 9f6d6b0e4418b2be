"""What numba-cuda takes and refuses of a kernel's constructs, the machine takes and refuses.

The compiler needs no GPU. Of most constructs it is asked for the type of a variable as well.
"""

import importlib.util
import itertools
import warnings

import numba
import numpy as np
import pytest
from numba import types

from numba_simt.errors import CompileError
from numba_simt.translation.frontend import compile_kernel

pytest.importorskip("numba_cuda")

RECORD = numba.from_dtype(
    np.dtype([("n", np.float32), ("i", np.int32), ("v", "f4", 3)], align=True)
)
ARGUMENTS = {
    "a": types.Array(types.float32, 2, "C"),
    "b": types.Array(types.float32, 2, "A"),
    "v": types.Array(types.float32, 1, "C"),
    "u": types.Array(types.float64, 1, "C"),
    "w": types.Array(types.int64, 1, "C"),
    "z": types.Array(types.complex64, 1, "C"),
    "t": types.UniTuple(types.float32, 3),
    "h": types.Tuple((types.float32, types.int64)),
    "p": types.UniTuple(types.Array(types.float32, 1, "C"), 2),
    "r": types.Array(RECORD, 1, "C"),
    "i": types.int64,
    "x": types.float64,
    "c": types.boolean,
}
TAKEN = """
for y in v: v[0] += y
for y in a: v[0] += y[0]
for y in t: v[0] += y
for y in p: v[0] += y[1]
for k, y in enumerate(v): v[k] += y
for k, y in enumerate(v, 1): v[k] += y
for y, k in zip(v, range(3)): v[k] += y
for k, (y, q) in enumerate(zip(v, w)): v[k] += y * q
for k in range(x): v[0] = k
for k in range(1, x, 2.0): v[0] = k
for k, q in np.ndindex(a.shape): v[k] += q
for k, y in np.ndenumerate(v): v[k[0]] += y
for y in a.flat: v[0] += y
v[0] = t[i]
v[0] = t[1:][0] + len(t + t)
v[0] = p[i][1]
v[:] = 0.5
a[1] = 1
a[..., 1] = 2
v[:2] = (1.0, 2.0)
v[0] = v[::i][1]
v[0] = a[None, 0, 1][0]
v[0] = a[..., 0][1]
v[0] = a.reshape(2, -1)[0, 1] + a.reshape((3, 2))[1, 1]
v[0] = a.T[0, 1] + a.transpose()[1, 0]
v[0] = v.view(np.int32)[1]
v[0] = a.flat[3]
v[0] = a.nbytes + a.itemsize
v[0] = v.sum() + np.sum(a)
v[0] = v.mean() + v.argmax() + np.any(v)
v.fill(0)
np.sin(v, v)
np.maximum(v, a[0], v)
np.arctan2(v, 0.5, v)
v[0] = (v if c else a[0])[1]
v[0] = r[0].n + r[0]['i'] + r[0].v[1] + r.n[1] + r['i'][0] + r[0][0]
r[0].n = 3; r[0]['i'] = 4; r[0] = r[1]; r['n'][2] = 1; r[0].v[:] = 2
v[0] = (lambda y: y + i)(v[1])
if c: raise ValueError("no")
assert c, "no"
cuda.atomic.add(w, x, 1)
cuda.atomic.add(w, c, 1)
cuda.atomic.add(z.real, 0, 1.5)
if t == (1.0, 2.0, 3.0) or a.shape != (2, 3): v[0] = 1
if i in (1, 2): v[0] = 1
y, q = v
v[0] = max(*t)
v[0] = sum((1, 2.5))
v[0] = len(range(3))
for y in [1, 2, 4]: v[0] += y
v[0] = 1 if "gpu" == "gpu" else 2
if "gpu" != "cpu" and "gpu" in ("a", "gpu"): v[0] = 1
for y in [i, 2, i + 4]: v[0] += y
if i in [1, 2] or i not in [3, i]: v[0] = 1
y = None if i else 3; v[0] = y
y = None if i else 3; v[0] = y + 1 if y is not None else -y
y = None if c else x; v[0] = math.sqrt(y) + max(y, 2)
y = None if i else 3; cuda.atomic.add(v, y, y)
y = None if i else 3; v[y:] = 1
y = None if i else c; v[0] = not y
"""
REFUSED = """
for y in h: v[0] += y
for y in (1, 2.5): v[0] += y
for y in (): v[0] += y
for y in reversed(v): v[0] += y
for y in i: v[0] += y
v[0] = h[i]
v[0] = t[i:][0]
v[0] = t[3]
y, q = t
t[0] = 1
v[:] += 1
v += 1
v[0] = np.sin(v)[0]
np.add(v, 1, v)
np.sin(v, out=v)
np.sin(w, w)
v[0] = (v if c else u)[1]
v[0] = (v if c else a)[1]
v[0] = b.reshape(6)[0]
v[x] = 1
v[c] = 1
v.sort()
r[0].q = 1
r.n = v
r[0] = (1, 2)
r[0].v = v
v[0] = r[0]['q']
if r[0] == r[1]: v[0] = 1
if z[0] < z[1]: v[0] = 1
raise ValueError(x)
raise i
v[0] = range(3)[1]
y = [1, 2, 4]; v[0] = y[1]
for y in [1, 2.5]: v[0] += y
for y in [*t]: v[0] += y
y = None if i else 3; v[y] = 1
y = None if i else 3; v[0] = v[y]
y = None if i else 3; v[0] = y and 3
y = None if i else 3; v[0] = float(y)
y = None if i else 3; v[0] = np.int32(y)
y = None if i else 3; v[0] = cuda.shfl_sync(-1, y, 0)
"""
WITH_MEMORY = """
a[1, :] = v
v[:] = u[:3]
v[0] = v.max()
"""  # under NUMBA_CUDA_ENABLE_NRT=1 only
COUNT = itertools.count()


def lines(text):
    return [line for line in text.splitlines() if line]


@pytest.fixture
def function(tmp_path):
    """A function of one line of a kernel."""

    def make(line):
        path = tmp_path / f"construct_{next(COUNT)}.py"
        head = "import math\nimport numpy as np\nfrom numba import cuda\n"
        path.write_text(f"{head}def kernel({', '.join(ARGUMENTS)}):\n    {line}\n", "utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.kernel

    return make


@pytest.fixture
def numba_compiles(monkeypatch):
    """What numba-cuda's compiler makes of a function, for a GPU that need not be there."""
    from numba.cuda import dispatcher
    from numba.cuda.compiler import compile_cuda

    class Device:
        compute_capability = (8, 0)

    monkeypatch.setattr(dispatcher, "get_current_device", Device)

    def compiles(function):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile_cuda(function, types.void, tuple(ARGUMENTS.values()), cc=(8, 0))

    return compiles


@pytest.mark.parametrize("line", lines(TAKEN))
def test_what_numba_takes(line, function, numba_compiles):
    kernel = function(line)
    assert numba_compiles(kernel)
    assert compile_kernel(kernel, tuple(ARGUMENTS.values()))


@pytest.mark.parametrize("line", lines(REFUSED))
def test_what_numba_refuses(line, function, numba_compiles):
    kernel = function(line)
    with pytest.raises(Exception):  # noqa: B017, of many classes
        numba_compiles(kernel)
    with pytest.raises(CompileError) as error:
        compile_kernel(kernel, tuple(ARGUMENTS.values()))
    assert error.value.line == 5


@pytest.mark.parametrize("line", lines(WITH_MEMORY))
def test_what_numba_takes_with_memory_of_its_own(line, function, numba_compiles):
    kernel = function(line)
    with pytest.raises(Exception, match=r"NRT|allocate|No implementation"):
        numba_compiles(kernel)
    assert compile_kernel(kernel, tuple(ARGUMENTS.values()))


@pytest.mark.parametrize(("bounds", "wanted"), [
    ("x", types.int32), ("1, x", types.int64), ("1, x, 2.0", types.int64), ("i", types.int64),
    ("math.ceil(x / 2)", types.int32),
])  # fmt: skip
def test_the_type_of_a_ranges_numbers_is_numbas(bounds, wanted, function, numba_compiles):
    kernel = function(
        f"import math\n    for k in range({bounds}): v[0] = k".replace("import math", "pass")
    )
    kernel.__globals__["math"] = __import__("math")
    found = numba_compiles(kernel).type_annotation.typemap
    assert {str(kind) for name, kind in found.items() if str(name) == "k"} == {str(wanted)}
    from numba_simt.instructions.sequences import _counted_in

    scope = {"x": types.float64, "i": types.int64, "1": types.int64, "2.0": types.float64}
    kinds = tuple(scope.get(part.strip(), types.float64) for part in bounds.split(","))
    assert _counted_in(kinds) == wanted
