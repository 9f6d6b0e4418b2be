"""`labkit.gpu.cuda`: Numba's on a machine with a GPU, the SIMT machine's elsewhere, or as asked."""

import importlib.util
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from labkit import gpu, hardware
from labkit.gpu.simt import api


def load(monkeypatch, wish=None, gpus=(), numba_cuda=None):
    """What `import labkit.gpu.cuda` gives in such a place."""
    if wish is None:
        monkeypatch.delenv("LABKIT_CUDA", raising=False)
    else:
        monkeypatch.setenv("LABKIT_CUDA", wish)
    monkeypatch.setattr(hardware, "this_machine", lambda: SimpleNamespace(gpus=gpus))
    if numba_cuda is not None:
        fake = ModuleType("numba")
        fake.cuda = numba_cuda
        monkeypatch.setitem(sys.modules, "numba", fake)
    name = "labkit.gpu.cuda"
    spec = importlib.util.spec_from_file_location(name, gpu.__path__[0] + "/cuda.py")
    monkeypatch.setitem(sys.modules, name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def device(available):
    return SimpleNamespace(is_available=lambda: available)


def test_without_a_gpu_it_is_the_simt_machine(monkeypatch):
    assert load(monkeypatch) is api
    assert load(monkeypatch, wish="simt", gpus=("T4",), numba_cuda=device(True)) is api


def test_with_a_gpu_it_is_numbas(monkeypatch):
    theirs = device(True)
    assert load(monkeypatch, gpus=("T4",), numba_cuda=theirs) is theirs
    assert load(monkeypatch, wish="gpu", gpus=("T4",), numba_cuda=theirs) is theirs


def test_a_gpu_that_numba_cannot_use_is_no_gpu(monkeypatch):
    assert load(monkeypatch, gpus=("T4",), numba_cuda=device(False)) is api
    with pytest.raises(RuntimeError, match="no CUDA GPU can be used here"):
        load(monkeypatch, wish="gpu", gpus=("T4",), numba_cuda=device(False))


def test_an_unknown_wish_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="may be simt, gpu, or not set"):
        load(monkeypatch, wish="fast")


def test_both_ways_to_import_it_give_the_same():
    code = "import labkit.gpu.cuda, sys; from labkit.gpu import cuda"
    code += "; print(cuda is sys.modules['labkit.gpu.cuda'], cuda.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "True"
