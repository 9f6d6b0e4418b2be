"""This lesson: the numbers of its text, and that what it prints follows from what it computes."""

import re
from dataclasses import replace

import numpy as np
import pytest

from labkit.cli import main
from labkit.course.config import config
from labkit.distributed.chooser import Limits, choose, serve
from labkit.distributed.costs.cost_model import CostModel
from labkit.distributed.costs.language_models import language_model
from labkit.hardware import machine
from labkit_lessons.distributed.choosing_hardware import lesson_tables
from labkit_lessons.distributed.choosing_hardware.published import token_rates, training_hours
from tests.notebooks.running import Run

SHOWN, BESIDE, MEASURED = "show(answer)", "beside_the_chooser", "token_rates()"
EXPLAINED, FOUR, CORES, BYTES = "times_and_prices", "an_image_on_each", "by_cores", "by_bytes"
LIMITS = ("memory", "bandwidth")
OWN = "own_model(layers=24"


@pytest.fixture(scope="module")
def lesson():
    return Run("04_distributed", "17_choosing_hardware")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def lines_of(said):
    """The cells of each line of a table, by the first."""
    rows = {}
    for line in said.splitlines():
        cells = re.split(r"  +", line.strip())
        rows[cells[0]] = cells[1:]
    return rows


def test_the_numbers_that_open_it():
    weights = language_model("llama31_8b").weight_bytes(2)
    memory = float(machine("t4").memory)
    assert round(weights / 1e9, 2) == 16.06 and memory == 15_360 * 2**20
    assert round(memory / 1e9, 2) == 16.11 and round((memory - weights) / 1e6) == 46
    assert round((memory - weights) / language_model("llama31_8b").kv_bytes_per_token(2), -1) == 350
    assert weights > 14.56 * 2**30 and round(14.56 * 2**30 / 1e9, 2) == 15.63, "what PyTorch got"
    found = choose(serve("llama31_8b", "fp16", context=1), Limits(), ["t4"]).rows[0]
    assert found.fit.plan.count == 2, "so it takes two T4s"
    best = serve("llama2_7b", context=100).plan(machine("a100"), 1, 1.0).seconds.value
    assert round(1 / best) == 154
    assert 2 * float(machine("t4").price) == 0.70 and float(machine("h100").price) == 10.8


def test_the_worked_examples():
    assert 100 * 2 + (3 + 7) * 48 == 680 == 4 * 170 and 2 * 200 < 680 <= 4 * 200
    ring = CostModel(0.2, 10)
    expected = {1: (8.8, 10.72, 0, 10.72), 2: (4.4, 5.36, 3.6, 8.96), 4: (2.2, 2.68, 7.2, 9.88)}
    for n, (compute, reading, links, step) in expected.items():
        assert 880 / (n * 100) == pytest.approx(compute)
        assert 536 / (n * 50) == pytest.approx(reading)
        assert 3 * ring.predict("ring_all_reduce", n, 8) == pytest.approx(links)
        assert max(compute, reading) + links == pytest.approx(step)
    assert 10 * 3.60 / 3600 == 0.010 and 2 * 4 * 1.80 / 3600 == 0.004
    assert round(30 * 0.36 / 3600, 6) == 0.003


def test_the_exercises_are_solved(lesson):
    for name in ("machines_needed", "step_parts", "cheapest"):
        assert "is solved" in printed(lesson, f'check("distributed.{name}"')


def test_the_chooser_shows_all_machines_and_the_formulas_of_one(lesson):
    said = printed(lesson, SHOWN)
    rows = lines_of(said)
    assert rows["t4"][:4] == ["2", "10.2 GB", "bandwidth", "39.9 ms"]
    assert rows["a6000"][:4] == ["1", "20.4 GB", "bandwidth", "25.1 ms"]
    words = " ".join(said.split())
    assert "tpu_v6e (the course's table has no peak in fp16); pynq_z1, pynq_z2 (its" in words
    assert said.startswith("Cheapest of the 2 in time with a price: 2 x t4, 39.9 ms, 0.97 USD")
    assert "prices differ in kind: that of t4 leaves its host computer out." in words
    read = language_model("llama31_8b")
    assert read.parameters == 8_030_261_248 and read.read_parameters == 7_504_924_672
    assert "(7,504,924,672 x 2 + 8 x" in words and "= 9.76 ms" in words
    assert "(2026-05, without its host computer)" in words
    assert "in 90 % of its memory" in words and "host computer" in words
    below = said[said.index("2 x NVIDIA T4:") :].splitlines()
    assert len(below) < 12, "four sums, and not everything that there is"


def test_yours_are_the_choosers_and_others_are_not(lesson):
    said = printed(lesson, BESIDE)
    assert said.count("as the chooser: True") == 3 and "no " not in said.split("within")[0]
    assert "within 50 ms: t4" in said and "within 20 ms: h100" in said
    assert "within 1 ms: none" in said

    def twice(weights, size, tokens, token_cache, memory, most):
        return 2

    def slower(*given):
        return 2 * lesson.namespace["step_parts"](*given)

    def first(counts, seconds, prices, limit):
        return 0

    wrong, _ = lesson.again(BESIDE, machines_needed=twice, step_parts=slower, cheapest=first)
    rows = lines_of(wrong)
    assert rows["NVIDIA H100 SXM 80 GB"][:2] == ["2", "no"]
    assert rows["NVIDIA H100 SXM 80 GB"][-1] == "no" and "as the chooser: False" in wrong


def test_what_others_published(lesson):
    rates = {(row[0], row[1]): row[4] for row in token_rates()}
    seven = [rates["Llama 2 7B", n] for n in (1, 2, 4, 8)]
    seventy = [rates["Llama 2 70B", n] for n in (2, 4, 8)]
    assert [round(100 * min(seven + seventy)), round(100 * max(seven + seventy))] == [41, 72]
    for shares in (seven, seventy):
        assert shares == sorted(shares, reverse=True), "less the more GPUs share it"
    assert rates["Llama 2 70B", 1] is None, "it does not fit, and ran out of memory"
    times = [row[5] for row in training_hours()]
    assert [round(min(times), 1), round(max(times), 1)] == [2.1, 6]
    name, _, passes, best, told, _ = training_hours()[-1]
    assert (name, passes) == ("Llama 3.1 405B", 4)
    assert round(float(told) / (3 / 4 * float(best)), 1) == 2.8 and round(989 / 400, 1) == 2.5
    assert [row[2] for row in training_hours()] == [3, 4, 4]
    layers = [language_model(key).layers for key in ("llama2_7b", "llama31_70b")]
    assert [2 * each for each in layers] == [64, 160], "all-reduces of a token"
    ring = serve("llama2_7b", context=100).ring(machine("a100"), 8)
    assert ring == CostModel(0.47e-6, 300e9 / 4), "NCCL's protocol for short messages"
    bytes = 2 * language_model("llama2_7b").width  # of one token's all-reduce
    at_once = ring.latency + 7 * bytes / ring.bandwidth  # one-shot: all others' numbers are read
    assert at_once < ring.predict("ring_all_reduce", 8, bytes) / 5, "so the ring is no bound"
    assert "tokens/s, published" in printed(lesson, MEASURED)


def test_what_the_explanation_says(lesson):
    answer = lesson.namespace["answer"]
    results = lesson.namespace["results"]
    h100, t4 = answer.row("h100"), answer.row("t4")
    slower = t4.time.value / h100.time.value
    assert t4.fit.plan.count == 2 and round(slower, 1) == 6.9
    turn = float(results["H100 as cheap up to"])
    assert turn == pytest.approx(0.70 * slower) and f"{turn:.2f}" == "4.85" and 2.69 < turn < 12.29
    for price, cheaper in ((turn - 0.01, "h100"), (turn + 0.01, "t4")):
        other = replace(machine("h100"), price=replace(machine("h100").price, value=price))
        among = [machine("t4"), other]
        assert choose(answer.workload, Limits(), among).cheapest.machine.key == cheaper, (
            "it turns there"
        )
    assert (t4.time.quantity.number, h100.time.quantity.number) == ("39.9 ms", "5.76 ms")
    assert round(float(machine("h100").bandwidth) / (2 * float(machine("t4").bandwidth))) == 5
    assert round(float(results["share of the roofline"])) == 68
    said = printed(lesson, EXPLAINED)
    changed = "With bf16, the cheapest in time with a price is 2 x tpu_v5e and not 2 x t4"
    assert f"{changed} (the price of t4 leaves its host computer out)." in said
    assert "does not change with twice the batch (49.99 of 50 ms), half the batch" in said
    path = config().course_root() / "chapters/04_distributed/source/choosing_hardware/lesson.py"
    assert "times as dear" not in path.read_text("utf-8"), "two prices of two kinds"
    assert "2 x t4: 39.9 ms, 0.97 USD" in said and "b200: 2.51 ms, no price here" in said


def test_one_image_on_four_machines(lesson):
    rows = lines_of(printed(lesson, FOUR))
    assert rows["Digilent Pynq-Z1"][:3] == ["int8", "738 µs [2]", "cycles"]
    assert [row[3] for key, row in rows.items() if key.endswith(("Z1", "T4", "v5e", "CPU"))] == [
        "yes"
    ] * 4
    assert rows["Digilent Pynq-Z1"][4] == "-" and rows["Google TPU v5e"][4] == "-"
    _, table = lesson_tables.an_image_on_each({"t4": "fp32", "pynq_z1": "int8"})
    assert float(table[1][2]) == 73_778 / 100e6


def test_the_trial_of_the_cores():
    _, rows = lesson_tables.by_cores()
    found = {row[0]: row for row in rows}
    cores = {key: float(row[1]) for key, row in found.items()}
    token = {key: float(row[3]) for key, row in found.items()}
    prompt = {key: float(row[5]) for key, row in found.items()}
    assert all(row[4] == "bandwidth" for row in rows)
    v100 = 5_120  # cores by NVIDIA's white paper of 2017; in fp32 it does not hold the weights
    assert round(cores["a6000"] / v100) == 2
    assert round(float(machine("a6000").memory) / float(machine("v100").memory), 1) == 1.5
    first = serve("llama31_8b", "fp16", batch=8, context=4096)
    step = {key: first.plan(machine(key), 1, 1.0).seconds.value for key in ("a6000", "v100")}
    assert round(step["a6000"] / step["v100"], 1) == 1.2
    assert cores["h100"] == cores["h200"] and round(token["h100"] / token["h200"], 1) == 1.4
    by_cores = sorted(cores, key=cores.get)
    assert prompt[by_cores[0]] > prompt[by_cores[1]] > prompt[by_cores[2]]
    assert float(found["a6000"][6]) > 2 * float(found["a100"][6]), "but not in 16 bits"
    fit = {key: float(row[7]) for key, row in found.items()}
    all_of_them = {key: float(row[8]) for key, row in found.items()}
    memory, bandwidth = ({k: float(getattr(machine(k), f)) for k in fit} for f in LIMITS)
    assert round(all_of_them["h200"] / all_of_them["h100"], 1) == 1.6, "more than by bandwidth:"
    assert round(bandwidth["h200"] / bandwidth["h100"], 1) == 1.4
    assert round(fit["h200"] / fit["h100"], 1) == 2.0
    for key, requests in fit.items():
        taken = 2 * 8_030_261_248 + requests * 2048 * 131_072
        assert taken <= 0.9 * memory[key] < taken + 2048 * 131_072
    assert prompt["h100"] == pytest.approx(prompt["h200"], rel=0.01)
    # Each core does a multiplication and an addition in a cycle: the clocks that follow are real.
    for key, count in cores.items():
        assert 1.2e9 < float(machine(key).peak["fp32"]) / (2 * count) < 2.1e9


def test_the_trial_of_the_cpu():
    _, rows = lesson_tables.by_bytes(["laptop_cpu", "server_cpu", "t4", "h100"])
    laptop, server, t4, h100 = rows
    workload = serve("llama31_70b", "fp32")
    assert round(workload.total.value / 1e9) == 284 and server[1] == "825 GB"
    assert server[4] == 1 and h100[4] == 4 and laptop[4] is None
    assert round(float(h100[2])) == 7 and 20 < float(server[5]) / float(h100[5]) < 30
    assert round(float(t4[2]) / float(laptop[2])) == 6
    assert 0.9 < float(machine("laptop_cpu").memory) / float(machine("t4").memory) < 1.1


def test_the_rule_and_the_quiz():
    read = 2 * language_model("llama31_8b").read_parameters
    token = serve("llama31_8b", "bf16", context=1).plan(machine("h100"), 1, 1.0).seconds.value
    assert round(read / 1e9) == 15 and round(1000 * token, 1) == 4.5
    assert read / float(machine("h100").bandwidth) == pytest.approx(token, rel=1e-3)
    assert max(10, 3) + 2 == 12 and max(5, 1.5) + 6 == 11


def test_the_learners_own_model_in_the_notebook_and_in_a_terminal(lesson, capsys):
    said = printed(lesson, OWN)
    path = config().course_root() / "chapters/04_distributed/source/choosing_hardware/lesson.py"
    command = re.search(r"`labkit (choose train [^`]+)`", path.read_text("utf-8"))[1]
    assert main(command.split()) == 0
    assert capsys.readouterr().out.startswith(said), "and then what changes it, and formulas"
    words = " ".join(said.split())
    assert "your model of 1.34 billion weights in bf16, trained on 5 billion tokens" in words
    assert (
        "at 40 % of what a machine can do" in words
        and "The course's table has no price of" in words
    )
    assert said.startswith("Cheapest of the 2 in time and budget with a price: 8 x tpu_v5e")
    assert "Fastest without a price, maybe too dear: 8 x" in said


def test_a_table_with_prices_is_what_the_exercise_gets():
    answer = choose(serve("llama31_8b"), Limits())
    keys, counts, seconds, prices = lesson_tables.offers(answer)
    assert len(keys) == len(counts) == len(seconds) == len(prices)
    for key, price in zip(keys, prices, strict=True):
        assert np.isnan(price) == (machine(key).price is None)
