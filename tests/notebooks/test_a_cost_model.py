"""This lesson: the numbers of its text, and that what it prints follows what it computes."""

import re
from collections import Counter

import numpy as np
import pytest
from scipy.stats import kendalltau

from labkit.distributed.clusters import cluster
from labkit.distributed.cost_model import CostModel
from labkit.distributed.language_models import language_model
from labkit.distributed.link_predictions import predict_trials
from labkit.distributed.link_trials import Trials
from labkit.distributed.published_scaling import published_result, published_results
from labkit.distributed.published_sweeps import published_sweeps
from labkit.distributed.shaped_figures import shaped_links
from labkit.hardware import machine
from tests.notebooks.running import Run

TRIALS, SHAPED, TERMS = "measure_trials(ranks", "shaped_links()", "terms_picture({"
PUBLISHED, SWEEPS, FAILED = "published_picture(results)", "sweep.predicted()", "sweep.failed"


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


def test_the_example_of_a_step():
    assert ((4 + 2 - 1) * (30 + 12), 210 + 50 - 12) == (210, 248)


def test_the_example_of_an_order(lesson):
    taken, said = np.array([20, 24, 30, 36]), np.array([22, 21, 25, 25])
    assert lesson.namespace["rank_correlation"](taken, said) == (4 - 1) / 6 == 0.5
    assert lesson.namespace["rank_correlation"](taken, np.full(4, 25)) == 0
    assert kendalltau(taken, said, variant="b").statistic > 0.5  # leaves out what has no order


def test_the_exercises_are_solved(lesson):
    for name in ("fit_link", "rank_correlation"):
        assert "is solved" in printed(lesson, f'check("distributed.{name}"')


def test_what_the_check_says_of_the_links():
    """450 GB/s within a node, and eight cards of 50 GB/s."""
    here = cluster("h100")
    assert (here.within.bandwidth, here.between.bandwidth, here.per_node) == (450e9, 50e9, 8)


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
        for side, of in (("tensor", layout.tensor), ("data", layout.data)):
            assert (f"{side} {of}" in name) == (of > 1)
        assert (f"{layout.pipeline} stages" in name) == (layout.pipeline > 1)
        assert (f"ZeRO-{layout.stage}" in name) == (layout.stage > 0)


def test_what_the_text_says_of_the_layouts(lesson):
    said = printed(lesson, TERMS)
    lines = [re.split(r"  +", line.strip()) for line in said.splitlines()]
    rows = {line[0]: line[1:] for line in lines if len(line) == 5 and line[0][0].isdigit()}
    assert len(rows) == 9
    four = "1,024: tensor 4, data 256, ZeRO-"
    fits = {name: row[1] for name, row in rows.items()}
    speed = {name: float(row[3]) for name, row in rows.items()}
    assert (fits[four + "1"], fits[four + "2"], fits[four + "3"]) == ("no", "yes", "yes")
    assert speed[four + "1"] == speed[four + "2"] == speed[four + "3"]
    assert fits["64: data 64, ZeRO-3"] == "yes"
    assert speed["64: data 64, ZeRO-3"] > speed[four + "3"] > speed["8: tensor 8"]
    far = rows["1,024: tensor 32, data 32, ZeRO-1"]
    assert far[2] == "tensor" and far[1] == "yes"
    steps, layouts = lesson.namespace["steps"], lesson.namespace["layouts"]
    assert all(terms.exposed == 0 for terms in steps.values()), (
        "arithmetic hides what they exchange"
    )
    wide = layouts["1,024: tensor 32, data 32, ZeRO-1"]
    near = layouts["1,024: tensor 8, data 128, ZeRO-1"]
    assert wide.micro_batches == 4 * near.micro_batches


def test_32_for_8_by_hand(lesson):
    """NCCL's ring of 32 in 4 nodes: 56 of 62 steps within a node; 6 all-reduces a layer."""
    model, bytes = language_model("llama31_70b"), 8192 * 8192 * 2
    latency = 56 * 3.4e-6 + 6 * 9.6e-6
    wide = 6 * 80 * 8 * (latency + 62 / 32 * bytes / 400e9)
    near = 6 * 80 * 2 * (14 * 3.4e-6 + 14 / 8 * bytes / 450e9)
    arithmetic = 4 * 256 * model.forward_flops(8192) / 1024 / cluster("h100").rate()
    update = [2 * 16 * model.parameters / (1024 * 3.35e12)] * 2
    by_hand = (arithmetic + wide + update[0]) / (arithmetic + near + update[1])
    ratio = float(lesson.namespace["results_of_guesses"]["32 for 8"])
    assert ratio == pytest.approx(by_hand, rel=1e-3) and round(ratio, 2) == 1.74
    assert round(latency / (latency + 62 / 32 * bytes / 400e9), 2) == 0.28


def test_every_published_result_is_printed_with_both_errors(lesson):
    said = printed(lesson, PUBLISHED)
    for result in published_results():
        (line,) = [line for line in said.splitlines() if line.startswith(result.name + "  ")]
        assert result.published.number in line and result.predicted().number in line
        assert ("fitted to it" if result.fitted else f"{result.error():+.1f} %") in line
        if result.constant_error() is not None:
            assert line.rstrip().endswith(f"{result.constant_error():+.1f} %")


def test_the_constant_is_better_on_trainings_and_worse_where_links_bind(lesson):
    errors = {}
    for kind in ("training", "decoding"):
        ones = [r for r in published_results() if r.kind == kind and not r.fitted]
        errors[kind] = np.abs([[r.error(), r.constant_error()] for r in ones])
    model, constant = errors["training"].T
    assert len(model) == 19 and (round(model.mean()), round(constant.mean())) == (20, 12)
    assert (sum(model <= 20), sum(constant <= 20)) == (11, 15)
    said = printed(lesson, PUBLISHED)
    assert re.search(r"training +19 +20\.4 % +11 +11\.8 % +15", said)
    eight = [r for r in published_results() if r.kind == "decoding" and r.given["tensor"] == 8]
    of_model = [abs(r.error()) for r in eight]
    of_constant = [abs(r.constant_error()) for r in eight]
    assert (round(min(of_model)), round(max(of_model))) == (20, 95)
    assert (round(min(of_constant)), round(max(of_constant))) == (31, 156)
    assert all(a < b for a, b in zip(of_model, of_constant, strict=True))
    largest = published_result("llama3_16384")
    assert round(largest.error()) == -21 and round(largest.constant_error(), 1) == -3.5


def test_the_causes_of_the_misses():
    """Every miss of more than 20.5 % is named, and so are the H100 that differ."""
    slow, fast = set(), set()
    for result in published_results():
        if abs(result.error()) > 20.5:
            (slow if result.error() < 0 else fast).add(result.key)
    large = {"megatron_530b", "megatron_1008b", "llama3_8192", "llama3_16384"}
    assert slow == large | {"torchtitan_70b_a100"}
    decoding = {key for key in fast if key.startswith("gpt_fast")}
    assert fast == decoding | {"torchtitan_8b_8_float8", "torchtitan_8b_128_float8"}
    peak = float(machine("a100").rate("bf16"))
    assert round(100 * published_result("megatron_1008b").value / peak) == 52
    assert round(100 * published_result("megatron_1b7").value / peak) == 44
    assert "500 W" in published_result("torchtitan_8b_8").source
    assert "700 W" in published_result("llama3_16384").source


def test_what_the_text_says_of_differences():
    few, many = published_result("llama3_8192"), published_result("llama3_16384")
    assert round(100 * (1 - many.value / few.value)) == 7
    assert round(100 * (1 - float(many.predicted()) / float(few.predicted()))) == 6
    small, large = published_result("megatron_1b7"), published_result("megatron_1008b")
    assert round(100 * (large.value / small.value - 1)) == 19
    assert round(100 * (1 - float(large.predicted()) / float(small.predicted()))) == 8


def test_the_model_ranks_no_better_than_the_rule(lesson):
    """Kendall's tau by SciPy, and the rule by its words."""
    said = printed(lesson, SWEEPS)
    nearer, slower, spreads = [], [], []
    for sweep in published_sweeps():
        taken, model = np.array(sweep.seconds), np.array(sweep.predicted())
        rule = [(one.tensor, one.pipeline) for one in sweep.layouts]
        places = np.array([sorted(set(rule)).index(one) for one in rule])
        by_model, by_rule = tau(taken, model), tau(taken, places)
        (line,) = [line for line in said.splitlines() if line.startswith(sweep.name + "  ")]
        assert f"{by_model:+.2f}" in line and f"{by_rule:+.2f}" in line
        nearer.append(np.sign(round(by_model - by_rule, 6)))
        slower.append(round(100 * (taken[model.argmin()] / taken.min() - 1)))
        spreads.append((taken.max() / taken.min(), model.max() / model.min()))
        if sweep.key == "30b_256":
            assert by_model < 0
        assert max(one.tensor for one in sweep.layouts) <= 8, "all groups fit into a node"
    assert sorted(nearer) == [-1, -1, -1, 0, 1]
    assert sorted(slower) == [0, 0, 0, 16, 25]
    assert [round(100 * (max(column) - 1)) for column in zip(*spreads, strict=True)] == [56, 8]


def tau(a, b):
    """Pairs in the same order less pairs in the other, of all pairs, from SciPy's tau-b."""
    n = len(a) * (len(a) - 1) / 2
    tied = [sum(k * (k - 1) / 2 for k in Counter(list(x)).values()) for x in (a, b)]
    return kendalltau(a, b).statistic * np.sqrt((n - tied[0]) * (n - tied[1])) / n


def test_another_order_changes_the_table(lesson):
    said, _ = lesson.again(SWEEPS, rank_correlation=lambda a, b: -0.123)
    assert said.count("-0.12") == 10


def test_what_the_memory_model_refuses(lesson):
    said = printed(lesson, FAILED)
    assert re.search(r"all +41 +41 +80 +65", said)
    sweeps = published_sweeps()
    assert sum(sweep.bytes(one) > 80e9 for sweep in sweeps for one in sweep.failed) == 65
    assert not any(sweep.bytes(one) > 80e9 for sweep in sweeps for one in sweep.layouts)


def test_where_the_9760_gpus_are_lost():
    """By the model, and also if only its efficiency were wrong."""
    result = published_result("llama3_16384")
    terms, efficiency = result.terms(), cluster("h100").efficiency
    arithmetic = terms.compute / terms.seconds
    assert round(100 * arithmetic) == 81 and round(efficiency, 1) == 0.4
    assert arithmetic * (1 - efficiency) > 1 - arithmetic
    seconds = terms.seconds * float(result.predicted()) / result.value  # of the published step
    computing = seconds - (terms.seconds - terms.compute)
    higher = efficiency * terms.compute / computing
    assert computing / seconds * (1 - higher) > 1 - computing / seconds


def test_the_quizzes_numbers():
    """Ten buckets of 6 ms, of which the last shows; and pings of 120 and 220 µs."""
    assert 60 / 10 - 60 / 10 / 2 == 3
    link = CostModel(20e-6, 10e9)
    small, large = link.message(1e6), link.message(2e6)
    assert (small, large) == pytest.approx((120e-6, 220e-6))
    off = 2 * (0.95 * small) - 1.05 * large  # the latency of two pings that are 5 % off
    assert abs(off - 20e-6) > 10e-6
