"""`labkit.gpu.cuda`: Numba's on a machine with a GPU, the SIMT machine's elsewhere, or as asked."""

import importlib.util
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from labkit import gpu, hardware
from labkit.gpu import device
from numba_simt import cuda as api

THEIRS = SimpleNamespace()  # numba.cuda
WHY = "its driver is too old. Update the driver."


def load(monkeypatch, wish=None, gpus=(), why=""):
    """What `import labkit.gpu.cuda` gives in such a place."""
    if wish is None:
        monkeypatch.delenv("LABKIT_CUDA", raising=False)
    else:
        monkeypatch.setenv("LABKIT_CUDA", wish)
    monkeypatch.setattr(hardware, "this_machine", lambda: SimpleNamespace(gpus=gpus))
    monkeypatch.setattr(device, "obstacle", lambda here: why)
    fake = ModuleType("numba")
    fake.cuda = THEIRS
    monkeypatch.setitem(sys.modules, "numba", fake)
    name = "labkit.gpu.cuda"
    spec = importlib.util.spec_from_file_location(name, gpu.__path__[0] + "/cuda.py")
    monkeypatch.setitem(sys.modules, name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def test_without_a_gpu_it_is_the_simt_machine_and_nobody_hears_of_it(monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, "numba_cuda", None)  # nor is it looked for
    assert load(monkeypatch, why=WHY) is api
    assert load(monkeypatch, wish="simt", gpus=("T4",), why=WHY) is api
    assert load(monkeypatch, wish="", gpus=("T4",)) is THEIRS
    assert capfd.readouterr() == ("", "")


def test_with_a_gpu_it_is_numbas(monkeypatch, capfd):
    assert load(monkeypatch, gpus=("T4",)) is THEIRS
    assert load(monkeypatch, wish="gpu", gpus=("T4",)) is THEIRS
    assert capfd.readouterr() == ("", "")


def test_a_gpu_that_cannot_be_used_is_passed_over_in_one_line(monkeypatch, capfd):
    assert load(monkeypatch, gpus=("Tesla T4", "Tesla T4"), why=WHY) is api
    out, err = capfd.readouterr()
    said = f"Kernels run on the SIMT machine, not on the Tesla T4 and Tesla T4: {WHY} "
    assert (out, err) == ("", said + "(LABKIT_CUDA=simt asks for it without this line.)\n")


def test_whoever_insists_on_a_gpu_hears_why_there_is_none(monkeypatch):
    with pytest.raises(RuntimeError, match=r"^LABKIT_CUDA=gpu, but the T4 cannot run kernels: its"):
        load(monkeypatch, wish="gpu", gpus=("T4",), why=WHY)
    with pytest.raises(RuntimeError, match=r"there is no CUDA GPU here\. Without the variable"):
        load(monkeypatch, wish="gpu")


def test_an_unknown_wish_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="may be simt, gpu, or not set"):
        load(monkeypatch, wish="fast")


def test_both_ways_to_import_it_give_the_same_and_the_line_comes_once():
    code = """
import sys
from dataclasses import replace
from labkit import hardware
here = replace(hardware.this_machine(), gpus=("Tesla T4",), driver="535.104.05")
hardware.this_machine = lambda: here
sys.modules["numba_cuda"] = None
import labkit.gpu.cuda
from labkit.gpu import cuda
import labkit.gpu.kernels.matmul, labkit.gpu.cuda
print(cuda is sys.modules['labkit.gpu.cuda'], cuda.__name__)
"""
    env = {"PATH": "", "LABKIT_CUDA": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout.split() == ["True", "numba_simt.cuda"], done.stderr
    assert done.stderr.count("Kernels run on the SIMT machine, not on the Tesla T4") == 1
    assert len(done.stderr.splitlines()) == 1
