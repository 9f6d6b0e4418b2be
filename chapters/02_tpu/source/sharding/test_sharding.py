"""Lesson sharding: what its cells print follows from what they compute, on eight devices."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("jax")
from labkit import figures
from labkit.checks.items import Refused
from labkit_lessons.tpu.sharding import exercises, mesh_pictures, virtual
from tests.notebooks.running import Run

BLOCKS = "blocks agree"
HELD = "virtual.held(matrix"
FOUR = "virtual.results(collectives"
LAYERS = "equal, within 0.00001:"
TRAP = "the gradient is"
PROGRAM = "sums in the program:"
CURES = "times the right gradient"
GUESSES = "figures.guesses(results)"


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "9_sharding")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def line(text, start):
    (found,) = [one for one in text.splitlines() if one.startswith(start)]
    return found.split()


def test_the_blocks_are_those_of_jax(lesson):
    assert "32 of 32 blocks agree" in printed(lesson, BLOCKS)
    said, _ = lesson.again(BLOCKS, block=lambda a, spec, mesh, place: a)
    assert "8 of 32 blocks agree" in said, "only where nothing is cut"


def test_what_a_spec_does_not_name_is_held_in_copies(lesson):
    said = printed(lesson, HELD)
    assert line(said, 'P("data", "model")')[-4:] == ["x", "256", "8", "2"]
    assert line(said, 'P("data", None)')[-4:] == ["x", "512", "4", "4"]
    assert line(said, 'P(None, "model")')[-4:] == ["x", "256", "2", "8"]
    assert line(said, "P(None, None)")[-4:] == ["x", "512", "1", "16"]


def test_the_four_collectives_by_hand(lesson):
    said = printed(lesson, FOUR)
    assert line(said, "nothing yet")[2:] == ["1", "2", "3", "4"]
    assert line(said, "psum ") == ["psum", "4", "6", "4", "6"]
    assert line(said, "pmean") == ["pmean", "2", "3", "2", "3"]
    assert line(said, "all_gather") == ["all_gather", "1", "2", "3", "4", "1", "2", "3", "4"]
    assert line(said, "psum_scatter") == ["psum_scatter", "4", "6"]


def test_eight_devices_give_the_result_of_one(lesson):
    said = printed(lesson, LAYERS)
    assert "equal, within 0.00001: True" in said and "88,064 B, on each device 11,008 B" in said
    jax = lesson.namespace["jax"]

    def without_bias(x, w1, b1, w2, b2):
        return jax.lax.psum(jax.nn.relu(x @ w1 + b1) @ w2, "model")

    said, _ = lesson.again(LAYERS, tensor_parallel_mlp=without_bias)
    assert "equal, within 0.00001: False" in said


def test_pmean_of_the_gradient_is_eight_times_too_large(lesson):
    assert "8.000 times the right one" in printed(lesson, TRAP)
    said = printed(lesson, PROGRAM)
    assert "program: psum_invariant\n" in said and "without pmean: 8.000 times" in said
    said = printed(lesson, CURES)
    assert line(said, "pmean of the gradient")[-2:] == ["8", "no"]
    assert line(said, "no pmean")[-2:] == ["8", "no"]
    assert line(said, "gradient of pmean")[-2:] == ["1", "yes"]


def test_the_factor_is_the_number_of_devices_and_gone_without_the_check(lesson):
    """As the text says: check_vma=False leaves the gradient the device's own."""
    names = lesson.namespace
    w, x, y, right = (names[name] for name in ("w", "x", "y", "right"))
    jax, P = names["jax"], names["P"]
    for count, factor in ((2, 2), (4, 4)):
        few = jax.make_mesh((count,), ("data",), devices=names["devices"][:count])
        cuts = (P(), P("data"), P("data"))
        run = jax.shard_map(names["averaged"], mesh=few, in_specs=cuts, out_specs=P())
        assert np.allclose(run(w, x, y), factor * right, atol=1e-4)
        run = jax.shard_map(
            names["averaged"], mesh=few, in_specs=cuts, out_specs=P(), check_vma=False
        )
        assert np.allclose(run(w, x, y), right, atol=1e-5)
        run = jax.shard_map(names["cured"], mesh=few, in_specs=cuts, out_specs=P(), check_vma=False)
        part = 64 // count
        own = jax.grad(names["loss"])(w, x[:part], y[:part])
        assert np.allclose(run(w, x, y), own, atol=1e-5)
        assert not np.allclose(own, right, atol=1e-5)


def test_the_example_of_one_weight_on_two_devices(lesson):
    names = lesson.namespace
    jax, P = names["jax"], names["P"]
    pair = jax.make_mesh((2,), ("data",), devices=names["devices"][:2])

    def loss(w, slope):
        return (w * slope).sum()

    def own(w, slope):
        return jax.grad(loss)(w, slope)

    slopes = np.array([3.0, 5.0], "float32")
    run = jax.shard_map(own, mesh=pair, in_specs=(P(), P("data")), out_specs=P())
    assert float(run(np.float32(1), slopes)) == 8


def test_63_rows_are_refused_and_a_forgotten_psum_too(lesson):
    names = lesson.namespace
    jax, P = names["jax"], names["P"]
    with pytest.raises(ValueError, match="divisible by 8"):
        jax.device_put(np.zeros((63, 2)), names["NamedSharding"](names["line"], P("data")))
    forgotten = jax.shard_map(
        lambda x: x.sum(), mesh=names["line"], in_specs=P("data"), out_specs=P()
    )
    with pytest.raises(ValueError, match="replication"):
        forgotten(np.zeros(8))


def test_jit_with_shardings_has_no_factor(lesson):
    """The Outside box: the compiler puts the collectives in, and the gradient is right."""
    names = lesson.namespace
    jax, P, line_of_eight = names["jax"], names["P"], names["line"]
    x, y = (
        jax.device_put(names[name], names["NamedSharding"](line_of_eight, P("data")))
        for name in ("x", "y")
    )
    w = jax.device_put(names["w"], names["NamedSharding"](line_of_eight, P()))
    assert np.allclose(jax.jit(jax.grad(names["loss"]))(w, x, y), names["right"], atol=1e-5)
    jax.debug.visualize_array_sharding(x)  # as the box says


def test_guesses_meet_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES)
    assert [float(result) for *_, result in drawn[0]] == [4, 8]


def test_the_judge_takes_bodies_of_shard_map_and_says_what_jax_refuses():
    def in_place(x, w1, b1, w2, b2):
        x[0] = 1
        return x

    case = next(iter(exercises.layers(np.random.default_rng(0))))
    with pytest.raises(Refused, match="changes its input"):
        exercises.on_devices(in_place)(*case.args)
    with pytest.raises(Refused, match="returns None"):
        exercises.on_devices(lambda *parts: None)(*case.args)
    ours = exercises.run_on_parts(exercises.our_mlp, *case.args)
    assert np.allclose(ours, exercises.on_one_device(*case.args), atol=1e-5)


def test_pictures_say_who_holds_what(capsys):
    mesh_pictures.blocks({"rows": ("data", None), "all": (None, None)})
    said = capsys.readouterr().out
    assert "rows: rows 0 to 1, columns 0 to 3 on 0 1" in said
    assert "rows 2 to 3, columns 0 to 3 on 2 3" in said
    assert "all: rows 0 to 3, columns 0 to 3 on 0 1 2 3" in said
    mesh_pictures.two_layers()
    assert "psum adds the two parts" in capsys.readouterr().out


def test_a_kernel_in_which_jax_has_started_is_told_to_restart():
    code = (
        "import os; os.environ['XLA_FLAGS'] = ''; import jax; jax.devices('cpu')\n"
        f"from {virtual.__name__} import devices\ndevices()"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert "1 device(s) of this CPU; this lesson needs 8. Restart the kernel" in done.stderr
