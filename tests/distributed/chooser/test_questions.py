"""What practitioners ask: twenty questions with known answers, each with the source it is from.

The first ten are of the kind that a model's card, a data sheet or a division answers; the others
have an answer that somebody published. An answer is right, or it is refused with the reason.
"""

import json

import pytest

from labkit.cli import main
from labkit.distributed.chooser import Limits, choose, serve, train
from labkit.distributed.costs.clusters import cluster
from labkit.distributed.costs.published_scaling import (
    of_decoding,
    published_result,
    published_results,
    sized_model,
)
from labkit.hardware import machine
from labkit_lessons.distributed.choosing_hardware.published import GPT_FAST

BEST = Limits(efficiency=1.0)


def asked(capsys, words):
    """What the command answers, as JSON, by machine."""
    assert main(["choose", *words.split(), "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    return {row["machine"]: row for row in given["machines"]}


@pytest.mark.parametrize(
    ("words", "key", "count"),
    [
        # 8.03e9 weights of 2 bytes are 16.1 GB: one card of 24 GB or more, two T4 (Llama 3.1 card)
        ("serve --model llama31_8b", "h100", 1),
        ("serve --model llama31_8b --format fp16", "t4", 2),
        # 405B in bf16 takes two machines of eight H100s (The Llama 3 Herd of Models, section 6.1)
        ("serve --model llama31_405b --most 16", "h100", 16),
        # and in fp8 one of them (section 6.2)
        ("serve --model llama31_405b --weights fp8", "h100", 8),
        # 70B in bf16 takes 141 GB: two of 80 GB (gpt-fast measured two A100s, and one ran out)
        ("serve --model llama31_70b", "a100", 2),
        # GPTQ, arXiv:2210.17323: 175B parameters in 3 or 4 bits run on a single A100 of 80 GB
        # in 3 bits; in 4 they are 87.5 GB, and take two
        ("serve --model gpt3 --weights int4", "a100", 2),
        # AWQ and GPTQ: 70B in 4 bits is 35 GB and fits one card of 48 or 80 GB
        ("serve --model llama31_70b --weights int4", "h100", 1),
        ("serve --model llama31_70b --weights int4", "a6000", 1),
        # 131,072 tokens of Llama 3.1 8B have a cache of 17.2 GB beside 16.1 GB: one of 80 GB
        ("serve --model llama31_8b --context 131072", "a100", 1),
        # 12 layers fit anywhere
        ("serve --model gpt2 --context 1024 --format fp32", "laptop_cpu", 1),
    ],
)
def test_how_many_machines(capsys, words, key, count):
    assert asked(capsys, words)[key]["count"] == count


@pytest.mark.parametrize("result", [r for r in published_results() if r.kind == "decoding"])
def test_nobody_passes_the_best_case(result):
    """All of the published decoding, gpt-fast's 14 rows: 5 prompt tokens, 200 generated."""
    given = result.given
    model = sized_model(given["model"])
    workload = serve(model, "bf16", context=100)
    plan = workload.plan(machine("a100"), given["tensor"], 1.0)
    assert result.value <= 1 / plan.seconds.value


@pytest.mark.parametrize("key", ["gpt_fast_7b_2", "gpt_fast_7b_8", "gpt_fast_31_70b_4"])
def test_links_take_as_long_as_in_lesson_16(key):
    """Its decoding, with a bandwidth that is no limit, leaves the links alone."""
    given = published_result(key).given
    model, count = sized_model(given["model"]), given["tensor"]
    plan = serve(model, "bf16", context=100).plan(machine("a100"), count, 1.0)
    ring = cluster("a100").ring(count, message=2 * model.width / count)
    links = 2 * model.layers * ring.predict("ring_all_reduce", count, 2 * model.width)
    assert plan.parts["links"].value == pytest.approx(links)
    reading = 2 * model.read_parameters / (count * 2039e9)
    assert 1 / of_decoding(given, "tokens/s", 1.0) == pytest.approx(reading + links, rel=0.06)


@pytest.mark.parametrize(
    ("weights", "published"),
    [("int8", 155.58), ("int4", 196.80)],
)
def test_narrow_weights_are_faster_but_not_in_proportion(weights, published):
    """gpt-fast's README, Llama 2 7B on one A100: 104.9, 155.58 and 196.80 tokens/s."""
    assert "gpt-fast" in GPT_FAST
    rates = {}
    for kept in (None, weights):
        workload = serve("llama2_7b", "bf16", context=100, weights=kept)
        rates[kept] = 1 / workload.plan(machine("a100"), 1, 1.0).seconds.value
    assert 104.9 < published <= rates[weights]
    assert rates[weights] / rates[None] > published / 104.9, "overheads do not shrink"


def test_the_default_efficiency_is_what_gpt_fast_reached():
    workload = serve("llama2_7b", context=100)
    a100 = machine("a100")
    best = 1 / workload.plan(a100, 1, 1.0).seconds.value
    assert workload.efficiency(a100).share == pytest.approx(104.9 / best, abs=0.005)
    row = choose(workload, Limits(efficiency=None), ["a100"]).rows[0]
    assert 1 / row.time.value == pytest.approx(104.9, rel=0.01)
    assert row.at_best.value == pytest.approx(1 / best)


def test_the_hours_of_a_training():
    """Llama 3.1's model card: 30.84 million GPU hours for the 405B; C = 6 N D at the least."""
    workload = train("llama31_405b", tokens=15e12, batch=2048, context=8192)
    row = choose(workload, Limits(efficiency=None, most=2048), ["h100"]).rows[0]
    hours = row.time.value * row.fit.plan.count
    assert hours == pytest.approx(30.84e6, rel=0.3)
    assert hours > 6 * 403.7e9 * 15e12 / (0.392 * 989.4e12) / 3600


def test_a_training_of_years_is_called_one(capsys):
    assert main("choose train --model llama31_8b --tokens 15e12 --machines h100".split()) == 0
    cheapest, fastest, _ = capsys.readouterr().out.split("\n", 2)
    assert cheapest.startswith("Cheapest: 2 x h100, 29.6 years (best 11.6 years), 5.6 million")
    assert fastest.startswith("Fastest of up to 8, with rings: 8 x h100, ") and "years" in fastest


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        # Llama 3.1's max_position_embeddings is 131,072; GPT-2 has 1,024 positions, Llama 2 4,096
        ("serve --model llama31_8b --context 1000000", "has 131,072 positions"),
        ("serve --model gpt2 --context 2k", "has 1,024 positions"),
        ("serve --model llama2_7b --context 8192", "has 4,096 positions"),
    ],
)
def test_what_no_machine_can_make_longer(capsys, words, reason):
    assert main(["choose", *words.split()]) == 1
    assert reason in capsys.readouterr().err
