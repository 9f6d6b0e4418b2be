"""Lesson what_sharding_sends: its tables follow from the compiled programs and the formulas."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("jax")
from labkit import figures
from labkit.tpu import compiler
from labkit_lessons.tpu.what_sharding_sends import exercises, published, reports, slice_pictures
from tests.notebooks.running import Run

MADE = "made[name] = compiled"
THREE = "reports.exchanges(made, formulas"
BATCHES = "slice_pictures.over_the_batch"
ROWS = "reports.exchanges(ours | sharded"
CHOICE = "reports.beside(made | ours"
CONSTRAINED = 'theirs["rows, constrained"] = '
LINKS = "reports.links()"
LEAST = "reports.roofline"
GUESSES = "figures.guesses(results)"
B, D, F = 1024, 1024, 4096


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "10_what_sharding_sends")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def line(text, start):
    (found,) = [one for one in text.splitlines() if one.startswith(start)]
    return found


def sizes(made):
    return sorted((one.kind, one.bytes, one.group) for one in made.collectives)


def test_every_collective_has_the_bytes_of_the_formula(lesson):
    names = lesson.namespace
    made, theirs, ours = names["made"], names["theirs"], names["ours"]
    by_images = [("all-reduce", 2 * 2 * D * F, 4)]
    by_weights = [("all-reduce", 2 * B * D, 4)]
    by_both = [("all-reduce", B * D, 2), ("all-reduce", 2 * D * F, 2)]
    rows = [("all-gather", 2 * B * D, 4), ("reduce-scatter", 2 * B * D // 4, 4)]
    for programs in (made, theirs):
        assert sizes(programs["by images"]) == by_images
        assert sizes(programs["by weights"]) == by_weights
        assert sizes(programs["by both"]) == by_both
    assert sizes(ours["rows"]) == sizes(theirs["rows, constrained"]) == rows
    assert sizes(theirs["rows"]) == [("all-gather", 2 * B * D, 4), ("all-reduce", 2 * B * D, 4)]
    said = printed(lesson, THREE) + printed(lesson, ROWS) + printed(lesson, CONSTRAINED)
    assert said.count(" yes ") == 12 and " no " not in said
    gathered, scattered = ("all-gather", 2 * D * F, 4), ("reduce-scatter", 2 * D * F // 4, 4)
    assert sizes(names["sharded"]["FSDP"]) == [gathered, gathered, scattered, scattered]


def test_all_three_cuts_give_the_gradients_of_one_device(lesson):
    """The bodies run here on four virtual devices, with small sizes and in float32."""
    import jax

    names = lesson.namespace
    rng = np.random.default_rng(0)
    sizes = ((8, 4), (4, 16), (16, 4))
    arrays = [rng.standard_normal(size).astype("float32") for size in sizes]
    right = names["step"](*arrays)
    for cut, body in (("by images", "by_images"), ("by weights", "by_weights"), ("by both",) * 2):
        axes = names["meshes"][cut]
        devices = jax.devices("cpu")[:4]
        mesh = jax.make_mesh(tuple(axes.values()), tuple(axes), devices=devices)
        specs = names["cuts"][cut]
        body = names[body.replace(" ", "_")]
        run = jax.shard_map(body, mesh=mesh, in_specs=specs, out_specs=specs[1:])
        for got, expected in zip(jax.jit(run)(*arrays), right, strict=True):
            assert np.allclose(got, expected, atol=1e-5)
    x, w1, w2 = arrays
    mesh = jax.make_mesh((4,), ("model",), devices=jax.devices("cpu")[:4])
    body, specs = names["rows_in_rows_out"], names["by_rows"]
    run = jax.shard_map(body, mesh=mesh, in_specs=specs, out_specs=specs[0])
    assert np.allclose(jax.jit(run)(*arrays), np.maximum(x @ w1, 0) @ w2, atol=1e-4)
    mesh = jax.make_mesh((4,), ("data",), devices=jax.devices("cpu")[:4])
    specs = names["by_fsdp"]
    run = jax.shard_map(names["fsdp"], mesh=mesh, in_specs=specs, out_specs=specs[1:])
    for got, expected in zip(jax.jit(run)(*arrays), right, strict=True):
        assert np.allclose(got, expected, atol=1e-5)


def test_another_formula_is_not_equal(lesson):
    formulas = {
        name: [2 * n for n in found] for name, found in lesson.namespace["formulas"].items()
    }
    names = lesson.namespace
    assert " no " in (said := _printed(reports.exchanges, names["made"], formulas, names))
    assert " yes " not in said


def _printed(table, made, formulas, names):
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as said:
        table(made, formulas, names["ring_bytes"])
    return said.getvalue()


def test_the_learners_formulas_are_used(lesson):
    said, _ = lesson.again(THREE, ring_bytes=lambda kind, result, devices: 1e6 * devices)
    assert line(said, "by images").split()[-1] == "4"
    assert "equal: True" in printed(lesson, BATCHES)
    ours = lesson.namespace["mesh_bytes"]
    said, _ = lesson.again(BATCHES, mesh_bytes=lambda *given: 2 * ours(*given))
    assert "equal: False" in said


def test_megabytes_of_the_text(lesson):
    names = lesson.namespace
    sent = {
        cut: float(reports.total(one, names["ring_bytes"])) for cut, one in names["made"].items()
    }
    assert [round(sent[cut], 1) for cut in ("by images", "by weights", "by both")] == [
        25.2,
        3.1,
        9.4,
    ]
    two = np.array([4, 1]), np.array([1, 4])
    by_images, by_weights = names["mesh_bytes"](8192, D, F, *two)
    assert by_images == by_weights
    three = np.array([4, 2, 1]), np.array([1, 2, 4])
    for batch, least in ((4095, 2), (4097, 1), (16383, 1), (16385, 0)):
        assert np.argmin(names["mesh_bytes"](batch, D, F, *three)) == least, "the rule says so"
    for batch, first_is_less in ((8191, False), (8193, True)):
        by_images, by_weights = names["mesh_bytes"](batch, D, F, *two)
        assert (by_images < by_weights) == first_is_less


def test_the_compilers_own_result_is_half_as_much_again(lesson):
    said = printed(lesson, CHOICE)
    assert line(said, "rows").split()[-2:] == ["3.15", "4.72"]
    assert line(said, "by both").split()[-2:] == ["9.44", "9.44"]
    changed = {"rows": replace(lesson.namespace["theirs"]["rows"], collectives=[])}
    names = lesson.namespace
    assert float(reports.total(changed["rows"], names["ring_bytes"])) == 0


def test_a_deep_network_has_its_equality_at_f_rows(lesson):
    """As the text says in brackets: with the gradient of x, two all-reduces go along model."""
    gradients = exercises.in_a_ring("all-reduce", 2 * 2 * D * F, 4)
    assert 2 * exercises.in_a_ring("all-reduce", 2 * F * D, 4) == gradients


def test_three_figures_are_one_and_the_fourth_is_not(lesson):
    per_chip = [float(one.one_way) for one in published.FIGURES]
    assert per_chip[:3] == [200e9] * 3 and per_chip[3] == pytest.approx(180e9)
    said = printed(lesson, LINKS)
    assert "1600 Gbps" in said and said.count(" 200 ") == 3 and " 180 " in said
    assert all(one.one_way.word == "published" for one in published.FIGURES)


def test_a_real_slice_took_longer_than_predicted(lesson):
    """The all-gather of the book sends what our step sends; its authors predict 560 µs."""
    moved = exercises.in_a_ring("all-gather", published.PROFILE.result, 4)
    ours = lesson.namespace["mesh_bytes"](B, D, F, np.array([4]), np.array([1]))
    assert moved == ours[0]
    assert moved / 4.5e10 == pytest.approx(560e-6, rel=0.01)
    said = printed(lesson, LEAST)
    assert line(said, "profile of a real v5e").split()[1:3] == ["680", "µs"] or "680" in said
    assert "-26" in line(said, "25.2 MB at 50 GB/s") and "-18" in line(said, "25.2 MB at 45 GB/s")
    said = printed(lesson, LEAST)
    assert line(said, "by images").split()[2:] == "25.2 2 252 µs 54.5 µs ICI".split()
    assert line(said, "by weights").split()[2:] == "3.15 2 31.5 µs 54.5 µs arithmetic".split()
    assert line(said, "by both").split()[2:] == "9.44 1 189 µs 54.5 µs ICI".split()
    assert line(said, "FSDP").split()[1:] == "25.2 2 252 µs 54.5 µs ICI".split()
    assert round(1e6 * 10 * B * D * F / 4 / 197e12, 1) == 54.5


def test_where_links_and_arithmetic_take_the_same_time(lesson):
    """The block of the text, and the deep network in brackets, from bytes and FLOP alone."""
    ridge, share = 197e12 / 100e9, 3 / 4
    whole = 2 * 2 * D * F  # bytes of both weights
    assert round(2 * whole * share / (10 * D * F) * ridge) == 1182
    assert round(2 * whole * share / (12 * D * F) * ridge) == 985
    assert round(3 * whole * share / (12 * D * F) * ridge, 1) == 1477.5
    results = 2 * B * D
    assert round(2 * results * share * ridge / (10 * B * D / 4)) == 2364
    assert round(2 * 2 * results * share * ridge / (12 * B * D / 4)) == 3940


def test_the_order_of_products_and_exchanges(lesson):
    said = printed(lesson, ROWS)
    assert line(said, "by images").endswith("product, product, product, product, all-reduce")
    overlapped = "FSDP       all-gather, all-gather starts, product, all-gather ends, product"
    assert overlapped in said and said.count("reduce-scatter, reduce-scatter") == 1


def test_fsdp_keeps_a_quarter_of_the_weights(lesson):
    names = lesson.namespace
    images = 2 * B * D // 4
    kept = names["sharded"]["FSDP"].memory["argument"] - images
    assert kept == 2 * 2 * D * F // 4
    assert names["made"]["by images"].memory["argument"] - images == 4 * kept


def test_guesses_meet_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES)
    assert [float(result) for *_, result in drawn[0]] == [pytest.approx(9.437184), 1.5]


def test_pictures_say_what_they_show(lesson, capsys):
    slice_pictures.rings()
    assert "0 and 2, and 1 and 3, add up gradients" in capsys.readouterr().out
    slice_pictures.over_the_batch(lesson.namespace["mesh_bytes"], D, F, [1024, 8192])
    said = capsys.readouterr().out
    assert "by images 25.2, 25.2; by weights 3.1, 25.2; by both 9.4, 16.8" in said


def test_with_the_compiler_switched_off_all_is_printed_alike(lesson, monkeypatch):
    """Every answer is the snapshot's, so a machine without the compiler prints the same."""
    monkeypatch.setenv("LABKIT_TPU_COMPILER", "off")
    assert not compiler.installed()
    monkeypatch.setattr(compiler, "ask", None)
    again = Run("02_tpu", "10_what_sharding_sends")
    assert again.printed == lesson.printed
