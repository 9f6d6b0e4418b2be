"""For which GPU a launch is judged: read from the environment, and set for a process."""

import numpy as np
import pytest
from kernels import cuda

from numba_simt import profile
from numba_simt.errors import UsageError
from numba_simt.execution import target


@cuda.jit
def barrier_after_a_return(x):
    i = cuda.grid(1)
    if i >= x.size:
        return
    x[i] += 1
    cuda.syncthreads()


def severities() -> list[str]:
    return [h.severity for h in profile(barrier_after_a_return, 1, 32, np.zeros(20)).hazards]


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    for name in (target.CAPABILITY, target.STRICT):
        monkeypatch.setenv(name, "")


@pytest.mark.parametrize(
    ("text", "capability"),
    [
        ("7.5", (7, 5)),
        ("75", (7, 5)),
        ("sm_90", (9, 0)),
        ("10.0", (10, 0)),
        (" 6.1 ", (6, 1)),
        ("120", (12, 0)),
    ],
)
def test_capabilities_are_read(text, capability):
    assert target.read_capability(text) == capability


@pytest.mark.parametrize("text", ["", "volta", "7", "7.5.1", "-7.5", "7,5"])
def test_what_is_none_is_refused(text):
    with pytest.raises(UsageError, match="no compute capability"):
        target.read_capability(text)


def test_a_launch_asks_the_environment(monkeypatch):
    assert target.target() == ((7, 5), False) and severities() == ["warning"]
    monkeypatch.setenv(target.CAPABILITY, "5.2")
    assert severities() == ["error"]
    monkeypatch.setenv(target.CAPABILITY, "9.0")
    monkeypatch.setenv(target.STRICT, "1")
    assert target.target() == ((9, 0), True) and severities() == ["error"]
    monkeypatch.setenv(target.CAPABILITY, "fast")
    with pytest.raises(UsageError, match="'fast'"):
        barrier_after_a_return[1, 32](np.zeros(20))


def test_the_device_says_which_gpu_it_stands_for(monkeypatch, capsys):
    assert cuda.get_current_device().compute_capability == (7, 5)
    monkeypatch.setenv(target.CAPABILITY, "8.6")
    assert cuda.get_current_device().compute_capability == (8, 6)
    cuda.detect()
    assert "compute capability 8.6" in capsys.readouterr().out


def test_a_target_is_chosen_for_a_process():
    target.choose("6.0")
    assert target.target() == ((6, 0), False) and severities() == ["error"]
    target.choose("8.0", strict=True)
    assert severities() == ["error"]
    target.choose(strict=False)
    assert target.target() == ((8, 0), False) and severities() == ["warning"]
    with pytest.raises(UsageError):
        target.choose("eight")
    assert target.target() == ((8, 0), False)
