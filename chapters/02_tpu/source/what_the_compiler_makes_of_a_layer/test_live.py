"""live.py: the compiler beside the snapshot, and a product on a clock."""

import dataclasses

import pytest

pytest.importorskip("jax")

from labkit.tpu import compile_for_tpu, compiler, programs
from labkit_lessons.tpu.what_the_compiler_makes_of_a_layer import live

FC1 = programs.LAYERS["fc1"]


def answers(monkeypatch, change):
    """The compiler is here; what it says is the snapshot's answer, changed."""
    stored = compile_for_tpu(programs.matmul, FC1, source="snapshot")

    def compiled(f, shapes, topology, *, source):
        return stored if source == "snapshot" else change(stored)

    monkeypatch.setattr(compiler, "installed", lambda: True)
    monkeypatch.setattr(compiler, "compile_for_tpu", compiled)


def test_what_agrees_and_what_differs(monkeypatch):
    answers(monkeypatch, lambda stored: stored)
    said = live.agreement(programs.matmul, FC1, "v5e:1x1")
    assert "agree in\nestimated_cycles" in said, "no line breaks inside a word"
    assert max(map(len, said.splitlines())) <= live.WIDTH
    answers(monkeypatch, lambda stored: dataclasses.replace(stored, ops=[]))
    assert "differs from the snapshot in" in live.agreement(programs.matmul, FC1, "v5e:1x1")


def test_without_an_answer_it_says_why(monkeypatch):
    def crash(stored):
        raise compiler.CompilerError("The compiler crashed.")

    answers(monkeypatch, crash)
    assert live.agreement(programs.matmul, FC1, "v5e:1x1") == "The compiler crashed."
    monkeypatch.setattr(compiler, "installed", lambda: False)
    assert "no TPU compiler here" in live.agreement(programs.matmul, FC1, "v5e:1x1")


def test_a_product_is_timed_on_the_first_device():
    import jax

    took = live.measure_product(32, times=3)
    assert took.word == "measured" and took.unit == "s" and float(took) > 0
    assert took.source == jax.devices()[0].device_kind


def test_a_layer_is_a_product():
    sizes = {name: programs.product_sizes(*layer) for name, layer in programs.LAYERS.items()}
    assert sizes == {
        "conv1": (256 * 32 * 32, 27, 32),
        "conv2": (256 * 16 * 16, 288, 64),
        "fc1": (256, 4096, 128),
        "fc2": (256, 128, 10),
        "square": (1024, 1024, 1024),
    }


def test_the_clock_belongs_to_the_units():
    cells = {chip: units * size**2 for chip, (units, size) in compiler.UNITS.items()}
    assert {chip: macs for chip, (_, macs) in compiler.CORES.items()} == cells
    assert [cores for cores, _ in compiler.CORES.values()] == [2, 2, 2, 1, 1, 1]
