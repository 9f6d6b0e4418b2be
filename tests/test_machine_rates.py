"""labkit.machine_rates: a rate is the work that was done over its time, on a clock of our own."""

import itertools
import sys
from dataclasses import replace

import numpy as np
import pytest

from labkit import hardware, machine_rates
from labkit.hardware import measure_this_machine
from labkit.machine_probe import this_machine


def test_the_rates_are_the_work_that_was_done_over_its_time(monkeypatch):
    """On a clock that moves 0.05 s at every look, each run takes 0.05 s: the rates are exact."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)  # NumPy's product alone
    products, copies, ticks = [], [], itertools.count()
    matmul, copyto = np.matmul, np.copyto

    def counted_matmul(a, b, out):
        assert a.dtype == b.dtype == out.dtype == np.float32
        products.append(2 * a.shape[0] * a.shape[1] * b.shape[1])
        return matmul(a, b, out=out)

    def counted_copyto(target, source):
        assert not np.shares_memory(target, source)
        copies.append(source.nbytes)
        return copyto(target, source)

    monkeypatch.setattr(np, "matmul", counted_matmul)
    monkeypatch.setattr(np, "copyto", counted_copyto)
    monkeypatch.setattr(machine_rates, "perf_counter", lambda: 0.05 * next(ticks))
    m = measure_this_machine(0.01)
    runs = 4  # one to warm up and three timed
    assert float(m.peak["fp32"]) == pytest.approx(products[-1] / 0.05)
    assert products[-runs:] == [products[-1]] * runs
    size = sum(copies) // runs
    assert float(m.bandwidth) == pytest.approx(2 * size / 0.05)
    assert size >> 20 == max(64, min(256, this_machine().memory >> 24))
    n, mib = round((products[-1] / 2) ** (1 / 3)), size >> 20
    assert f"product of {n} x {n}" in m.notes and f"copy of {mib} MiB" in m.notes


def test_on_a_small_machine_the_arrays_are_small(monkeypatch):
    monkeypatch.setattr(hardware, "this_machine", lambda: replace(this_machine(), memory=2**30))
    assert "copy of 64 MiB" in measure_this_machine(0.01).notes


def test_the_convolution_of_a_loaded_torch_is_counted_and_the_best_rate_wins(monkeypatch):
    torch = pytest.importorskip("torch")
    flops, ticks = [], itertools.count()
    conv2d = torch.conv2d

    def counted_conv2d(x, w, padding):
        y = conv2d(x, w, padding=padding)
        flops.append(2 * y.numel() * w[0].numel())
        return y

    monkeypatch.setattr(torch, "conv2d", counted_conv2d)
    monkeypatch.setattr(machine_rates, "best_product", lambda seconds: (1.0, "a slow product"))
    monkeypatch.setattr(machine_rates, "best_copy", lambda *_: (1.0, "a copy"))
    monkeypatch.setattr(machine_rates, "perf_counter", lambda: 0.05 * next(ticks))
    m = measure_this_machine(0.01)
    assert float(m.peak["fp32"]) == pytest.approx(flops[-1] / 0.05)
    assert m.notes.startswith("float32 3x3 convolution")
    monkeypatch.setattr(machine_rates, "best_product", lambda seconds: (1e30, "a fast product"))
    assert measure_this_machine(0.01).notes.startswith("a fast product")
