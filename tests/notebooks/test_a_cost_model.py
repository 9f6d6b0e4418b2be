"""This lesson: the numbers of its text, and that what it prints follows what it computes."""

import re

import numpy as np
import pytest

from labkit.distributed.clusters import cluster
from labkit.distributed.cost_model import CostModel
from labkit.distributed.link_predictions import ACTIVATION, predict_trials
from labkit.distributed.link_trials import Trials
from labkit.distributed.published_scaling import published_result, published_results
from labkit.distributed.shaped_figures import shaped_links
from labkit.hardware import machine
from labkit.provenance import rounded
from tests.notebooks.running import Run

SAME_STEP, TRIALS, SHAPED = "within a millionth", "measure_trials(ranks", "shaped_links()"
TERMS, PUBLISHED, PARTS = "terms_picture({", "published_picture(results)", "terms.parts.items()"


@pytest.fixture(scope="module")
def lesson():
    return Run("04_distributed", "16_a_cost_model")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def test_the_number_that_hurts():
    """400 of 989 TFLOP/s, on each of 16,384 GPUs."""
    peak = float(machine("h100").rate("bf16"))
    assert round(peak / 1e12) == 989
    assert round(16_384 * (1 - 400e12 / peak)) == 9_760
    assert published_result("llama3_16384").value == 400e12


def test_the_example_of_two_pings(lesson):
    latency, bandwidth = lesson.namespace["fit_link"](
        np.array([1e3, 1e6]), np.array([0.010, 0.060])
    )
    assert bandwidth == pytest.approx(20e6, rel=2e-3)
    assert latency == pytest.approx(9.95e-3, rel=1e-3)
    assert 3 / 60 == 0.05 and 3 / 10 == 0.3


def test_the_example_of_hidden_travel(lesson):
    assert lesson.namespace["hidden_seconds"](np.full(3, 10.0), np.full(3, 15.0)) == 20


def test_the_example_of_a_step(lesson):
    step = lesson.namespace["hybrid_step"]
    assert step(np.array([3.0, 3.0, 4.0]), 1.0, 2, 4, 50.0) == 248
    assert (3 * 10 + 3 * 4 * 1, 5 * 42, 2 * (3 + 3), 50 - 12) == (42, 210, 12, 38)


def test_the_exercises_are_solved(lesson):
    for name in ("fit_link", "hidden_seconds", "hybrid_step"):
        assert "is solved" in printed(lesson, f'check("distributed.{name}"')


def test_what_the_check_says_of_the_links():
    """450 GB/s within a node, and eight cards of 50 GB/s."""
    here = cluster("h100")
    assert (here.within.bandwidth, here.between.bandwidth, here.per_node) == (450e9, 50e9, 8)


def test_the_learners_step_is_the_one_that_is_compared(lesson):
    assert "within a millionth: True" in printed(lesson, SAME_STEP)
    said, _ = lesson.again(SAME_STEP, hybrid_step=lambda *given: 1.0)
    assert "within a millionth: False" in said


def test_every_trial_is_shown_and_none_is_faster_than_its_link(lesson):
    """The fit of the learner makes the predictions."""
    off, given = lesson.namespace["off"], lesson.namespace["given"]
    expected = {(4, name) for name in predict_trials(CostModel(1, 1), 4, given, False)}
    expected |= {(2, name) for name in predict_trials(CostModel(1, 1), 2, given, False)}
    assert set(off) == expected and {(2, "overlap"), (4, "ring 600000")} < expected
    assert len([row for row in lesson.namespace["rows"] if row]) > 0
    assert not set(given.sizes) & set(given.pings)
    source = lesson.cell(TRIALS)
    slow = source.replace("measure_trials(ranks, given)", "dict(remembered)")
    given_seconds = {f"ping {size}": 1 + size / 1e6 for size in given.pings}
    truth = predict_trials(CostModel(1.0, 1e6), 4, given, False)
    half = {name: 2 * value for name, value in truth.items()}
    names = lesson.before[source] | {"remembered": given_seconds | half}
    code = slow.replace("for ranks in (4, 2):", "for ranks in (4,):")
    said = lesson.execute(code, names)
    assert {round(error) for error in names["off"].values()} == {100}
    assert said.count("+100.0 %") == len(truth)


def test_the_overlaps_prediction_is_the_second_exercise(lesson):
    """Eight layers of 15 ms and 150 kB; four buckets of two, or eight all-reduces behind them."""
    given = lesson.namespace["given"]
    assert (given.layers, given.backward, given.gradient) == (8, 0.015, 150_000)
    assert given.bucket == 2 * given.gradient
    assert Trials().backward == 0.03  # on the shaped links
    assert given.pings == (1_000, 125_000, 500_000)
    assert (given.micro_batches, given.tokens * ACTIVATION) == (4, 128_000)
    link = CostModel(0.01, 25e6)
    backward = np.full(4, 2 * given.backward)
    travel = np.full(4, link.predict("ring_all_reduce", 2, given.bucket))
    hidden = lesson.namespace["hidden_seconds"](backward, travel)
    step = backward.sum() + travel.sum() - hidden
    expected = predict_trials(link, 2, given, False)
    assert expected["overlap"] == pytest.approx(step)
    one = link.predict("ring_all_reduce", 2, given.gradient)
    assert expected["after"] == pytest.approx(8 * (given.backward + one))


def test_the_shaped_figures_are_those_of_the_file(lesson):
    said = printed(lesson, SHAPED)
    count = 0
    for link in shaped_links():
        if link.kind == "shaped and relayed":
            assert Trials().bandwidth == 12.5e6 and Trials().latency == 0.02
            for trial in link.trials:
                assert f"{trial.error:+.1f} %" in said
                count += 1
    assert said.count(" %") == count
    errors = []
    for link in shaped_links():
        if link.kind == "shaped and relayed":
            errors += [trial.error for trial in link.trials]
    assert sum(error > 0 for error in errors) > len(errors) / 2  # most take longer
    assert "predicted by its pings" in said and "measured on" in said
    assert "shaped_links.md" in said.replace("\n", "")


def test_layouts_use_the_gpus_and_the_batch_that_they_say(lesson):
    for name, layout in lesson.namespace["layouts"].items():
        assert int(name.partition(":")[0].replace(",", "")) == layout.ranks
        assert layout.batch == 256
        for count, side in re.findall(r"(\d+) (stages)|(?:tensor|data) \d+", name):
            assert not side or int(count) == layout.pipeline
        assert f"tensor {layout.tensor}" in name
        assert layout.data == 1 or f"data {layout.data}" in name


def test_what_the_text_says_of_the_layouts(lesson):
    said = printed(lesson, TERMS)
    lines = [re.split(r"  +", line.strip()) for line in said.splitlines()]
    rows = {line[0]: line[1:] for line in lines if len(line) == 5}
    speed = {name: float(row[3]) for name, row in rows.items() if row[3].replace(".", "").isdigit()}
    fits = {name: row[1] for name, row in rows.items() if name in speed}
    assert len(speed) == 6
    fastest = max(speed, key=speed.get)
    assert fastest == "1,024: tensor 4, data 256" and fits[fastest] == "no"
    that_fit = {name: value for name, value in speed.items() if fits[name] == "yes"}
    best = max(value for name, value in that_fit.items())
    assert that_fit["1,024: tensor 8, data 128"] == best
    far = rows["1,024: tensor 32, data 32"]
    assert far[2] == "tensor" and far[1] == "yes"
    steps = lesson.namespace["steps"]
    assert all(terms.exposed == 0 for terms in steps.values())
    stages = steps["1,024: tensor 8, data 32, 4 stages"]
    share = stages.bubble / (stages.bubble + stages.compute + stages.tensor)
    assert share == pytest.approx(3 / 11)
    groups_of_8 = [speed[name] for name in speed if "tensor 8" in name and "stages" not in name]
    assert groups_of_8 == [520, 520, 520]
    layouts = lesson.namespace["layouts"]
    wide, near = layouts["1,024: tensor 32, data 32"], layouts["1,024: tensor 8, data 128"]
    here = cluster("h100").ring(32)
    assert here == CostModel(9.6e-6, 400e9)
    latency = 6 * 80 * wide.micro_batches * 2 * 31 * here.latency  # 6 all-reduces a layer
    assert 0.45 < latency / steps["1,024: tensor 32, data 32"].tensor < 0.5
    assert wide.micro_batches == 4 * near.micro_batches
    ratio = float(lesson.namespace["results_of_guesses"]["32 for 8"])
    expected = steps["1,024: tensor 32, data 32"].seconds
    assert ratio == expected / steps["1,024: tensor 8, data 128"].seconds > 1.5


def test_every_published_result_is_printed_with_its_error(lesson):
    said = printed(lesson, PUBLISHED)
    results = published_results()
    for result in results:
        (line,) = [line for line in said.splitlines() if line.startswith(result.name + "  ")]
        assert result.published.number in line and result.predicted().number in line
        assert ("fitted to it" if result.fitted else f"{result.error():+.1f} %") in line
    others = [result for result in results if not result.fitted]
    assert len(others) == 26 and len(results) - len(others) == 3
    assert sum(abs(result.error()) <= 20 for result in others) == 17  # the rule to keep
    worst = max(others, key=lambda result: abs(result.error()))
    assert worst.key == "torchtitan_8b_128_float8" and round(worst.error()) == 60


def test_the_causes_of_the_misses():
    """Every miss of more than 15 % is named, with its direction."""
    slow, fast = set(), set()
    for result in published_results():
        if abs(result.error()) > 15:
            (slow if result.error() < 0 else fast).add(result.key)
    large = {"megatron_146b", "megatron_310b", "megatron_530b", "megatron_1008b"}
    large |= {"llama3_8192", "llama3_16384"}
    assert slow == large | {"torchtitan_8b_a100", "torchtitan_70b_a100"}
    named = {"torchtitan_8b_8_float8", "torchtitan_8b_128_float8", "torchtitan_405b_interleaved"}
    assert fast == named | {"horovod_vgg16", "gpt_fast_7b_8"}
    peak = float(machine("a100").rate("bf16"))
    assert round(100 * published_result("megatron_1008b").value / peak) == 52
    assert round(100 * published_result("megatron_1b7").value / peak) == 44
    assert round(0.517 * 4 / 3, 2) == 0.69  # the source's 51.7 %, with a second forward
    layout = published_result("torchtitan_405b_interleaved").given["layout"]
    assert layout["micro_batches"] == 16


def test_doubling_the_gpus_of_llama():
    few, many = published_result("llama3_8192"), published_result("llama3_16384")
    assert round(100 * (1 - many.value / few.value)) == 7
    assert round(100 * (1 - float(many.predicted()) / float(few.predicted()))) == 6


def test_where_the_9760_gpus_are_lost(lesson):
    """The parts of the step of 16,384 GPUs: by the model, and if only its efficiency were wrong."""
    result = published_result("llama3_16384")
    terms, efficiency = result.terms(), cluster("h100").efficiency
    said = printed(lesson, PARTS)
    for part, seconds in terms.parts.items():
        share = rounded(100 * seconds / terms.seconds)
        assert re.search(rf"{part} +{re.escape(share)}", said)
    arithmetic = terms.compute / terms.seconds
    assert round(100 * arithmetic) == 81 and round(efficiency, 1) == 0.4
    assert arithmetic * (1 - efficiency) > 1 - arithmetic
    seconds = terms.seconds * float(result.predicted()) / result.value  # of the published step
    computing = seconds - (terms.seconds - terms.compute)
    higher = efficiency * terms.compute / computing
    assert (round(100 * computing / seconds), round(100 * higher)) == (76, 53)
    assert computing / seconds * (1 - higher) > 1 - computing / seconds


def test_the_quizzes_numbers():
    """Ten buckets of 6 ms, of which the last shows; and pings of 120 and 220 µs."""
    assert 60 / 10 - 60 / 10 / 2 == 3
    link = CostModel(20e-6, 10e9)
    small, large = link.message(1e6), link.message(2e6)
    assert (small, large) == pytest.approx((120e-6, 220e-6))
    off = 2 * (0.95 * small) - 1.05 * large  # the latency of two pings that are 5 % off
    assert abs(off - 20e-6) > 10e-6
