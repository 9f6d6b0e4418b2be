"""Published results: sources, what was fitted and what was not, and each kind's prediction."""

import ast
import tomllib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from labkit.distributed.costs import published_scaling
from labkit.distributed.costs.clusters import clusters
from labkit.distributed.costs.cost_model import CostModel
from labkit.distributed.costs.language_models import language_model
from labkit.distributed.costs.published_scaling import (
    KINDS,
    of_decoding,
    published_result,
    published_results,
)
from labkit_lessons.distributed.a_cost_model.published_sweeps import published_sweeps
from labkit_lessons.distributed.choosing_hardware.published import token_rates

RESULTS = published_results()
TABLE = tomllib.loads(Path(published_scaling.__file__).with_suffix(".toml").read_text("utf-8"))
FITTED = {"megatron_1b7", "torchtitan_8b_8", "gpt_fast_7b_1"}


def test_every_result_has_a_source_that_was_read_and_says_what_it_assumes():
    for result in RESULTS:
        assert "http" in result.source and len(result.assumed) > 5
    assert all(source["checked"] for source in TABLE["sources"].values())


def test_at_least_five_were_not_fitted_and_each_efficiency_comes_from_one():
    assert {result.key for result in RESULTS if result.fitted} == FITTED
    named = {here.fitted for here in clusters().values() if here.fitted}
    named |= {row["fitted"] for row in TABLE["reading"].values()}
    assert named == FITTED
    assert len(RESULTS) - len(FITTED) >= 5


def fit_efficiency(result):
    """The efficiency with which the prediction is what was published, by halving an interval.

    Of the cluster's arithmetic for a training, of its memory's bandwidth for decoding.
    """
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        value = KINDS[result.kind](result.given, result.quantity, middle)
        low, high = (middle, high) if value < result.value else (low, middle)
    return (low + high) / 2


def test_the_efficiencies_are_those_of_the_fitted_results():
    for key, here in clusters().items():
        if here.fitted:
            assert here.efficiency == pytest.approx(
                fit_efficiency(published_result(here.fitted)), abs=5e-4
            ), key
    share = TABLE["reading"]["a100"]["value"]
    assert share == pytest.approx(fit_efficiency(published_result("gpt_fast_7b_1")), abs=5e-4)
    for key in FITTED:
        assert abs(published_result(key).error()) < 0.5


def test_no_prediction_looks_at_what_was_published():
    """Another value changes the error and not the prediction, and it is not among what is given."""
    for result in RESULTS:
        other = replace(result, value=result.value * 7)
        assert float(other.predicted()) == float(result.predicted())
        assert "value" not in result.given
    tree = ast.parse(Path(published_scaling.__file__).read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("of_"):
            assert "published" not in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def test_the_sizes_give_the_published_parameters():
    """Of the Megatron paper to a tenth of a billion, which is how it prints them."""
    for key, row in TABLE["models"].items():
        model = published_scaling.sized_model(key)
        assert model.parameters == pytest.approx(row["published"], abs=0.6e8, rel=4e-3), key


@pytest.mark.parametrize("key", [r.key for r in RESULTS if r.key.startswith("megatron")])
def test_flops_are_those_of_the_megatron_paper(key):
    """Equation 3: 96 B s l h² (1 + s / 6h + V / 16lh), which does not recompute the head."""
    given = published_result(key).given
    layout = published_scaling.Layout(**given["layout"])
    model, s = published_scaling.sized_model(given["model"]), given["sequence"]
    h, l, V = model.width, model.layers, model.vocabulary
    whole = 96 * layout.batch * s * l * h**2 * (1 + s / (6 * h) + V / (16 * l * h))
    again = 2 * layout.batch * s * h * V  # we recompute the head as well
    terms = published_scaling.predict_step(model, published_scaling.cluster("a100"), layout, s)
    assert terms.flops * layout.ranks == pytest.approx(whole + again, rel=1e-9)


def test_layouts_use_as_many_gpus_as_the_names_say():
    for result in RESULTS:
        if result.kind == "training":
            ranks = published_scaling.Layout(**result.given["layout"]).ranks
            assert f"{ranks:,} " in result.name


def test_a_trainings_terms_are_those_of_its_prediction():
    result = published_result("llama3_16384")
    terms = result.terms()
    assert float(result.predicted()) == terms.flops / terms.seconds
    with pytest.raises(ValueError, match="only a training"):
        published_result("horovod_vgg16").terms()


def test_what_interleaving_assumes():
    """With 8 micro-batches in place of 16, the prediction is 2 % too fast, as its row says."""
    result = published_result("torchtitan_405b_interleaved")
    layout = result.given["layout"] | {"micro_batches": 8, "sequences": 4}
    assert layout["micro_batches"] * layout["sequences"] == 32
    other = replace(result, given=result.given | {"layout": layout})
    assert round(other.error()) == 2


def test_decoding_reads_the_weights():
    """One GPU: 13.48 GB over 0.693 of 2,039 GB/s; with free messages n GPUs are n times as fast."""
    one = float(published_result("gpt_fast_7b_1").predicted())
    assert one == pytest.approx(0.693 * 2039e9 / (2 * 6_738_415_616))
    eight = float(published_result("gpt_fast_7b_8").predicted())
    step = 0.47e-6 + 8192 / 8 / (300e9 / 4)  # by NCCL's protocol for short messages
    assert 1 / eight == pytest.approx(1 / (8 * one) + 64 * 14 * step)


def test_decoding_has_the_links_of_the_chooser():
    """At the full bandwidth, the rate of the step is what the chooser calls the best one."""
    best = {(model, count): float(rate) for model, count, rate, *_ in token_rates() if rate}
    given = published_result("gpt_fast_7b_8").given
    assert of_decoding(given, "tokens/s", 1.0) == pytest.approx(best["Llama 2 7B", 8], rel=0.03)


def test_images_hide_what_fits_behind_the_backward():
    """128 nodes with 4 of 512 ranks: of 511 steps, 127 go between nodes."""
    vgg = published_result("horovod_vgg16")
    latency = (384 * 3.4e-6 + 127 * 9.6e-6) / 511
    ring = CostModel(latency, 25e9 / 8).predict("ring_all_reduce", 512, 4 * 138_357_544)
    computing = 64 / 154
    shown = ring - 2 / 3 * computing * 15 / 16
    assert float(vgg.predicted()) == pytest.approx(computing / (computing + shown))
    assert float(published_result("horovod_inception").predicted()) == 1.0


def test_the_constant_knows_the_fitted_result_and_no_layout():
    """By hand: FLOP/s of the GPTs; tokens of a model with as many FLOPs; bytes of the weights."""
    assert float(published_result("megatron_1008b").constant()) == 137e12
    assert float(published_result("torchtitan_8b_128").constant()) == pytest.approx(6667)
    assert float(published_result("torchtitan_8b_8_float8").constant()) == pytest.approx(6667)
    llama = float(published_result("llama3_16384").constant())
    flops = language_model("llama31_8b").forward_flops(8192) / 8192
    assert llama == pytest.approx(6667 * 3 * flops) and round(llama / 1e12) == 386
    assert float(published_result("gpt_fast_7b_8").constant()) == pytest.approx(8 * 104.9)
    ratio = 6_738_415_616 / 68_976_648_192
    seventy = float(published_result("gpt_fast_70b_2").constant())
    assert seventy == pytest.approx(2 * 104.9 * ratio)
    assert float(published_result("horovod_vgg16").constant()) == 1
    assert published_result("torchtitan_memory").constant_error() is None
    for result in RESULTS:
        if result.fitted:
            assert result.constant_error() == pytest.approx(0)


def test_a_sweeps_batch_is_the_one_that_the_sheets_imply():
    """MFU x peak x step time x GPUs of the fastest layout: 6 P T and attention of its tokens."""
    mfu = {"13b_64": 0.7057, "13b_128": 0.5941, "30b_128": 0.5140, "30b_256": 0.4922}
    mfu["65b_128"] = 0.5526
    for sweep in published_sweeps():
        row = TABLE["sweeps"][sweep.key]
        model = published_scaling.sized_model(row["model"])
        flops = mfu[sweep.key] * 312e12 * min(sweep.seconds) * row["gpus"]
        of_a_token = 6 * model.parameters + 12 * model.layers * model.width * row["sequence"]
        assert flops / of_a_token == pytest.approx(row["batch"] * row["sequence"], rel=0.01)


def test_sweeps_use_all_gpus_and_cut_the_batch():
    for sweep in published_sweeps():
        row = TABLE["sweeps"][sweep.key]
        assert f"{row['gpus']:,} A100" in sweep.name and "http" in sweep.source
        assert len(sweep.layouts) == len(sweep.seconds)
        for layout in (*sweep.layouts, *sweep.failed):
            assert layout.ranks == row["gpus"] and layout.batch == row["batch"]
            layout.demand_fits(published_scaling.sized_model(row["model"]))
        assert not set(sweep.layouts) & set(sweep.failed)
    assert sum(len(sweep.layouts) for sweep in published_sweeps()) == 41
    assert sum(len(sweep.failed) for sweep in published_sweeps()) == 80


def test_vgg_16_has_the_weights_of_its_layers():
    widths = [3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
    weights = sum(9 * a * b + b for a, b in pairwise(widths))
    for a, b in ((512 * 49, 4096), (4096, 4096), (4096, 1000)):
        weights += a * b + b
    assert weights == published_result("horovod_vgg16").given["weights"]


def test_memory_is_zeros_table():
    saved = float(published_result("torchtitan_memory").predicted())
    assert saved == pytest.approx(16 * 8_030_261_248 * (1 / 8 - 1 / 128))
    assert published_result("torchtitan_memory").value == pytest.approx(15.4 * 2**30)


def test_kinds_and_unknown_keys():
    assert {result.kind for result in RESULTS} == set(KINDS)
    with pytest.raises(ValueError, match="There are: megatron_1b7"):
        published_result("megatron")
