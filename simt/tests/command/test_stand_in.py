"""Every way to import numba.cuda gives the machine, and afterwards Numba's own again."""

import importlib
import importlib.machinery
import sys
import types

import numba
import numpy as np
import pytest

import numba_simt
from numba_simt import cuda
from numba_simt.command.stand_in import standing_in
from numba_simt.errors import KernelError

WAYS = {
    "from numba import cuda": "cuda",
    "import numba.cuda": "numba.cuda",
    "import numba.cuda as c": "c",
    "import numba as nb": "nb.cuda",
    "import importlib": "importlib.import_module('numba.cuda')",
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_gives_the_module(way):
    names = {}
    with standing_in():
        exec(way, names)
        assert eval(WAYS[way], names) is cuda
    assert sys.modules.get("numba.cuda") is not cuda and vars(numba).get("cuda") is not cuda


def test_names_and_submodules_are_the_machines():
    with standing_in():
        from numba.cuda import grid, jit, libdevice, to_device  # noqa: F401
        from numba.cuda.libdevice import rsqrtf

        assert jit is cuda.jit and grid is cuda.grid and rsqrtf.path == "libdevice.rsqrtf"
        types = importlib.import_module("numba.cuda.types")
        assert types.float32 is numba.types.float32


def test_a_kernel_made_of_bare_names_runs():
    with standing_in():
        from numba.cuda import grid, jit

    @jit
    def twice(x):
        i = grid(1)
        if i < x.size:
            x[i] *= 2

    x = np.arange(5.0)
    twice[1, 32](x)
    assert x.tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("name", ["nothing_like_it", "nothing.like_it"])
def test_what_is_missing_is_a_sentence_and_an_import_error(name):
    with (
        standing_in(),
        pytest.raises(ImportError, match=f"SIMT machine has no .*{name[:7]}") as why,
    ):
        importlib.import_module(f"numba.cuda.{name}")
    assert isinstance(why.value, KernelError)
    with standing_in(), pytest.raises(ImportError, match=r"SIMT machine has no cuda\.nothing"):
        exec("from numba.cuda import nothing_like_it")


def test_vectorize_for_the_cpu_is_numbas_and_for_cuda_the_machines(monkeypatch):
    before = numba.vectorize
    asked = []
    monkeypatch.setattr(
        numba_simt, "vectorize", lambda *given, **named: asked.append((given, named)), raising=False
    )
    with standing_in():
        from numba import vectorize

        add = vectorize(["float64(float64, float64)"])(lambda a, b: a + b)
        assert add(1.0, 2.0) == 3.0 and not asked
        vectorize(["float32(float32)"], target="cuda")
        assert asked == [((["float32(float32)"],), {})]
    assert numba.vectorize is before


def test_another_package_is_given_where_the_machine_has_one(monkeypatch, tmp_path):
    (tmp_path / "numba_simt_cupy_of_a_test.py").write_text("asarray = 'ours'\n")
    monkeypatch.syspath_prepend(tmp_path)
    stand_in = importlib.import_module("numba_simt.command.stand_in")
    monkeypatch.setattr(stand_in, "OTHERS", {"cupy": "numba_simt_cupy_of_a_test"})
    monkeypatch.setitem(sys.modules, "cupy", real := object())
    with standing_in():
        import cupy

        assert cupy.asarray == "ours"
    assert sys.modules["cupy"] is real


def test_a_part_of_a_submodule_is_imported_by_its_name(monkeypatch):
    made = types.ModuleType("numba_simt_driver_of_a_test")
    made.driver = types.SimpleNamespace(Device="ours")
    made.__spec__ = importlib.machinery.ModuleSpec(made.__name__, None)
    monkeypatch.setitem(sys.modules, made.__name__, made)
    stand_in = importlib.import_module("numba_simt.command.stand_in")
    monkeypatch.setattr(stand_in, "SUBMODULES", {"cudadrv": made.__name__})
    with standing_in():
        names = {}
        exec(
            "import numba.cuda.cudadrv.driver\nfrom numba.cuda.cudadrv.driver import Device", names
        )
        exec("from numba.cuda import cudadrv", names)
    assert names["Device"] == "ours" and names["cudadrv"] is made
