"""labkit.gpu.device: for each way in which a GPU cannot be used, a sentence with what to do."""

import os
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from labkit.gpu import device, linker
from labkit.gpu.device import obstacle
from labkit.machine_probe import this_machine
from numba_simt.extensions import mma, vector

T4 = replace(this_machine(), gpus=("Tesla T4",), driver="535.104.05")
OLD = "its driver 535.104.05, for CUDA 12.2, is too old: numba-cuda compiles for CUDA 13, which "
OLD += "needs driver 580 or newer. Update the driver, or run: pip install 'numba-cuda[cu12]' "
OLD += "(labkit's extra cu12)."


def numba_cuda(knows=(13, 0), compiles=(13, 0), gpu=(7, 5), error=None, nvvm=True):
    """As numba.cuda answers on a machine with such a driver, compiler and GPU."""

    def get_version():
        if error:
            raise ImportError("Error at driver init")  # a CudaSupportError is one
        return knows

    return SimpleNamespace(
        runtime=SimpleNamespace(get_version=lambda: compiles),
        cudadrv=SimpleNamespace(
            driver=SimpleNamespace(driver=SimpleNamespace(get_version=get_version))
        ),
        is_available=lambda: nvvm and not error,
        cuda_error=lambda: error,
        gpus=[SimpleNamespace(compute_capability=gpu)],
    )


@pytest.fixture
def install(monkeypatch):
    """install(cuda): what `from numba import cuda` gives; None: numba-cuda is not installed."""
    taught = []
    for module in (vector, mma):
        monkeypatch.setattr(module, "register", lambda module=module: taught.append(module))
    for name in (device.SIMULATOR, device.HIDDEN):
        monkeypatch.delenv(name, raising=False)

    def put(cuda):
        fake = ModuleType("numba")
        fake.cuda = cuda
        monkeypatch.setitem(sys.modules, "numba", fake)
        monkeypatch.setattr(device, "find_spec", lambda name: cuda)
        return taught

    return put


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"knows": (12, 2)}, OLD),
        ({"error": "Call to cuInit results in CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"}, "too old"),
        (
            {"knows": (11, 8), "compiles": (12, 8)},
            "its driver 535.104.05, for CUDA 11.8, is too old: numba-cuda compiles for CUDA 12, "
            "which needs driver 525 or newer. Update the driver.",
        ),
        (
            {"compiles": (14, 0)},
            "compiles for CUDA 14, which needs a newer driver. Update the driver",
        ),
        (
            {"compiles": (12, 8), "error": "Call to cuInit results in\nCUDA_ERROR_NO_DEVICE (100)"},
            "CUDA does not start (Call to cuInit results in CUDA_ERROR_NO_DEVICE (100)).",
        ),
        ({"nvvm": False}, "NVIDIA's compiler NVVM is missing. Run: pip install --upgrade 'numba"),
        (
            {"gpu": (6, 0)},
            "it has compute capability 6.0, but CUDA 13 compiles from 7.5 on. Run: pip install "
            "'numba-cuda[cu12]' (labkit's extra cu12).",
        ),
        ({"gpu": (3, 7), "compiles": (12, 8)}, "but CUDA 12 compiles from 5.0 on."),
    ],
)
def test_each_obstacle_is_a_sentence(install, answers, says):
    taught = install(numba_cuda(**answers))
    said = obstacle(T4)
    assert says in said and said.endswith(".") and "\n" not in said
    assert not taught


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"knows": (12, 2), "compiles": (12, 9)},  # within one major version machine code fits
        {"knows": (13, 0), "compiles": (12, 9), "gpu": (6, 0)},
        {"knows": (13, 0), "compiles": (13, 2), "gpu": (9, 0)},
    ],
)
def test_where_all_fits_there_is_none_and_numba_learns_our_functions(install, monkeypatch, answers):
    taught = install(numba_cuda(**answers))
    monkeypatch.setattr(linker, "is_here", lambda: True)
    assert obstacle(replace(T4, driver="")) == ""
    assert taught == [vector, mma]


@pytest.mark.parametrize(
    ("knows", "compiles", "package"),
    [((12, 2), (12, 9), "nvidia-nvjitlink-cu12"), ((13, 0), (13, 2), "nvidia-nvjitlink ")],
)
def test_without_the_linker_a_driver_takes_no_newer_ptx(
    install, monkeypatch, knows, compiles, package
):
    taught = install(numba_cuda(knows=knows, compiles=compiles, gpu=(9, 0)))
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvjitlink", None)
    said = obstacle(replace(T4, driver="590.1" if knows[0] > 12 else "535.104.05"))
    assert f"takes PTX of CUDA {knows[0]}.{knows[1]}" in said and f"pip install {package}" in said
    assert not taught
    monkeypatch.setattr(linker, "is_here", lambda: True)
    assert obstacle(replace(T4, driver="")) == ""


def test_newer_libraries_of_an_older_driver_count(install):
    """NVIDIA's package cuda-compat brings them: what CUDA says decides, not the number."""
    install(numba_cuda(knows=(13, 0)))
    assert obstacle(T4) == ""


def test_what_is_to_be_installed_fits_the_driver(install):
    install(None)
    assert obstacle(T4).endswith("not installed. Run: pip install --upgrade 'numba-cuda[cu12]'.")
    assert "numba-cuda[cu13]" in obstacle(replace(T4, driver="580.65.06"))
    assert "numba-cuda[cu13]" in obstacle(replace(T4, driver=""))


def test_the_simulator_is_no_gpu(install, monkeypatch):
    install(numba_cuda())
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    assert obstacle(T4).startswith("NUMBA_ENABLE_CUDASIM puts Numba's own simulator in its place")
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "0")
    assert obstacle(T4) == ""


def test_a_gpu_that_was_hidden_is_named_as_such(install, monkeypatch):
    install(numba_cuda(compiles=(12, 8), error="CUDA_ERROR_NO_DEVICE"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert obstacle(T4).endswith("(CUDA_ERROR_NO_DEVICE). CUDA_VISIBLE_DEVICES is ''.")


def test_whatever_else_fails_is_told_in_a_line(install, monkeypatch):
    def broken():
        raise RuntimeError("nvrtc: cannot open\nshared object")

    cuda = numba_cuda()
    cuda.runtime.get_version = broken
    install(cuda)
    said = "numba-cuda does not work here (RuntimeError: nvrtc: cannot open shared object). Run: "
    assert obstacle(T4).startswith(said)
    install(numba_cuda())
    monkeypatch.setattr(mma, "register", broken)
    assert obstacle(T4).startswith(said)
    monkeypatch.setitem(sys.modules, "numba", None)
    assert obstacle(T4).startswith("numba-cuda does not work here (ModuleNotFoundError")


def test_the_real_numba_cuda_is_asked_in_its_own_words(monkeypatch):
    """It is installed, and there is no driver; then one that is too old, and one that is not."""
    pytest.importorskip("numba_cuda")
    from numba import cuda

    if os.path.exists("/proc/driver/nvidia"):
        pytest.skip("a real driver answers here")
    here, compiles = replace(T4, driver="999.0"), cuda.runtime.get_version()[0]
    assert obstacle(here).startswith("CUDA does not start (CUDA driver library cannot be found.")
    real = cuda.cudadrv.driver.driver
    monkeypatch.setattr(real, "get_version", lambda: (compiles - 1, 8))
    assert f"numba-cuda compiles for CUDA {compiles}, which needs driver" in obstacle(here)
    monkeypatch.setattr(real, "get_version", lambda: (compiles, 0))
    monkeypatch.setattr(cuda, "is_available", lambda: True)
    monkeypatch.setattr(cuda, "gpus", [SimpleNamespace(compute_capability=(7, 5))])
    assert obstacle(here) == ""


@pytest.mark.parametrize("has_it", [True, False])
def test_numba_loads_with_a_numpy_that_lost_a_name(monkeypatch, has_it):
    """NumPy 2.5 has no row_stack: numba-cuda finds one while it loads, and nobody afterwards."""
    monkeypatch.delattr(np, "row_stack", raising=False)
    if has_it:
        monkeypatch.setattr(np, "row_stack", np.vstack, raising=False)
    loaded = []

    def load(name):
        loaded.append((name, np.row_stack(([1], [2])).tolist()))

    monkeypatch.setattr(device, "import_module", load)
    device.lend_row_stack()
    assert loaded == ([] if has_it else [("numba.cuda.np.arrayobj", [[1], [2]])])
    assert hasattr(np, "row_stack") == has_it
