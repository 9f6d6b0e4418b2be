"""How an answer is shown: the table, its sentences, the formulas, and plain numbers."""

import json
from dataclasses import replace

import pytest

from labkit.distributed.chooser import (
    Limits,
    changes,
    choose,
    formulas,
    image,
    serve,
    show,
    train,
)
from labkit.distributed.chooser.formulas import as_dict
from labkit.distributed.chooser.offers import with_price
from labkit.distributed.chooser.wording import of_limit, sentences
from labkit.hardware import machine


def lines(capsys):
    return capsys.readouterr().out.splitlines()


def test_the_answer_stands_first_and_the_table_has_every_machine(capsys):
    show(choose(serve("llama31_8b", "bf16", 8, 4096), Limits(seconds=0.02)))
    said = lines(capsys)
    first = " ".join(said[:2])
    assert first.startswith("Cheapest of the 3 in time with a price: 2 x tpu_v5e, 11.9 ms, 0.995")
    assert first.endswith(" for a million tokens; bandwidth binds.")
    assert said[2].startswith("Fastest of up to 8, with rings: 8 x b200, 767 µs;")
    assert said[3].startswith("For Llama 3.1 8B in bf16, ") and said[3].endswith("for a step.")
    rows = {line.split()[0]: line for line in said if line}
    assert "5.76 ms" in rows["h100"] and "bandwidth" in rows["h100"] and "2.16" in rows["h100"]
    assert "for the memory" in rows["tpu_v5e"] and " 2 " in rows["tpu_v5e"]
    assert rows["a100"].split()[-1] == "-", "no price"
    below = " ".join(said)
    assert "h100 10.8 (2025-02, with its host computer)" in below
    assert "The course's table has no price of a100, " in below
    assert "t4, v100, m3_max (the course's table has no peak in bf16)" in below
    assert "at best, with rings." in below and "one-shot" in below
    assert "waits less where the tensors are small: for several, the best case is no bound" in below
    assert "pynq_z1, pynq_z2 (its accelerator has no attention)" in below


def test_one_that_is_too_slow_says_why_there_are_not_more(capsys):
    show(choose(serve("llama31_8b"), Limits(seconds=1e-4), ["tpu_v5p", "h100"]))
    show(choose(serve("llama31_8b", "fp32"), Limits(seconds=0.001), ["server_cpu"]))
    show(choose(train("llama31_8b"), Limits(seconds=60, most=64, usd=1), ["tpu_v5p", "h100"]))
    show(choose(train("gpt2", context=512), Limits(seconds=60, usd=0.1), ["tpu_v5p"]))
    show(choose(image("int8"), Limits(seconds=1e-6), ["pynq_z1"]))
    said = lines(capsys)
    ends = {"tpu_v5p": [], "h100": [], "server_cpu": [], "pynq_z1": []}
    for line in said:
        key, _, rest = line.partition(" ")
        if key in ends:
            ends[key].append(rest.split("  ")[-1].strip())
    assert ends["tpu_v5p"] == [
        "too slow; links not listed",
        "too slow, too dear",
    ]
    assert ends["h100"] == ["too slow", "too slow, too dear"], "eight or 64 were tried"
    assert ends["server_cpu"] == ["too slow; stands alone"]
    assert ends["pynq_z1"] == ["too slow; stands alone"]


ASKED = [
    (serve("llama31_8b", "bf16", 8, 4096), Limits(efficiency=None)),
    (serve("llama31_8b", "bf16", 64, 1000, prompt=800, rate=200), Limits(efficiency=None)),
    (serve("llama31_405b", "fp8", 64, 1000, weights="int4"), Limits(usd=5, most=64)),
    (serve("llama31_405b", "bf16"), Limits(efficiency=None)),
    (serve("llama31_8b"), Limits(seconds=1e-5, efficiency=None)),
    (train("llama31_70b", tokens=15e12, batch=512), Limits(efficiency=None, most=256)),
    (train("llama31_8b"), Limits(seconds=86_400, usd=100, efficiency=None)),
    (image("int8"), Limits(seconds=1e-3)),
]


@pytest.mark.parametrize(("workload", "limits"), ASKED)
def test_the_answer_stands_in_the_first_lines(capsys, workload, limits):
    answer = choose(workload, limits)
    show(answer)
    said = lines(capsys)
    assert " ".join(said).startswith(" ".join(sentences(answer)))
    first = "\n".join(said[:4])
    if answer.tried:
        assert "Fastest" in first and "Cheapest" in first
    assert not [line for line in said if "e-0" in line and "://" not in line]


@pytest.mark.parametrize(("workload", "limits"), ASKED)
def test_no_line_is_longer_than_a_line(capsys, workload, limits):
    show(choose(workload, limits))
    assert [line for line in lines(capsys) if len(line) > 100 and "://" not in line] == []


def test_without_a_price_the_field_is_empty_and_a_sentence_says_so(capsys):
    answer = choose(serve("llama31_8b"), among=["a100", "b200"])
    assert sentences(answer)[0] == "Cheapest: none of those that hold the limits has a price."
    assert "USD" not in sentences(answer)[1]


def test_the_cheapest_says_of_how_many_and_whose_prices_are_of_another_kind():
    workload = serve("llama31_8b", "fp16", 8, 4096)
    said = sentences(choose(workload))
    assert said[0].startswith("Cheapest of the 2 with a price: 2 x t4, 39.9 ms, 0.97 USD")
    assert said[1] == "Their prices differ in kind: that of t4 leaves its host computer out."
    said = sentences(choose(workload, Limits(seconds=0.02)))
    assert said[0].startswith("Cheapest, the only one in time with a price: h100, ")
    assert len(said) == 2
    assert sentences(choose(workload, among=["h100"]))[0].startswith("Cheapest: h100, ")
    own = [machine("t4"), with_price(machine("h100"), 2.5)]
    asked = sentences(choose(workload, among=own))[1]  # nobody said what is in your own price
    may = "Their prices may differ in kind: that of t4 leaves its host computer out; does yours?"
    assert asked == may
    own = [with_price(machine("t4"), 0.3), with_price(machine("h100"), 2.5)]
    assert len(sentences(choose(workload, among=own))) == 2, "both are yours"
    other = replace(machine("a100"), price=machine("t4").price, price_with_host=False)
    said = sentences(choose(workload, among=[machine("t4"), other, machine("h100")]))
    assert said[1].endswith("in kind: those of t4, a100 leave their host computers out.")


def test_the_cheapest_is_one_of_those_that_hold_the_limits():
    """With a price are t4 and h100 here, but two T4s take 39.9 ms."""
    workload = serve("llama31_8b", "fp16", 8, 4096)
    one = {
        Limits(seconds=0.02): "Cheapest, the only one in time with a price: h100, ",
        Limits(usd=1): "Cheapest, the only one in budget with a price: 2 x t4, ",
        Limits(seconds=0.05, usd=5): "Cheapest of the 2 in time and budget with a price: 2 x t4, ",
        Limits(seconds=0.05): "Cheapest of the 2 in time with a price: 2 x t4, ",
    }
    for limits, said in one.items():
        assert sentences(choose(workload, limits))[0].startswith(said)
    too_dear = sentences(choose(workload, Limits(usd=0.01)))
    assert too_dear[2].startswith("Cheapest of the 2 with a price: 2 x t4, "), "none holds it"
    both = sentences(choose(workload, Limits(usd=1), ["t4", "h100"]))
    assert both[0].startswith("Cheapest: 2 x t4, "), "the other has a price, too"


def test_it_fits_nowhere_by_so_much():
    (said,) = sentences(choose(serve("llama31_405b"), Limits(most=4)))
    # 2 bytes for each weight, and the cache of 2,048 tokens, on 4 cards: nine tenths of each
    needed = (405_853_388_800 * 2 + 2048 * 2 * 126 * 8 * 128 * 2) / 4
    assert said.startswith("It fits nowhere. Nearest is mi300x")
    over = needed - 0.9 * 206_141_652_992
    assert f"{over / 1e9:.3g} GB more than 90 % of 206 GB" in said


def test_nobody_can_do_it_at_all():
    (said,) = sentences(choose(image("bf16"), among=["t4", "pynq_z1"]))
    assert said == "No machine can do it: see below why."


def test_limits_that_nobody_holds():
    answer = choose(serve("llama31_8b"), Limits(seconds=1e-6), ["h100", "tpu_v5e"])
    none, fastest, cheapest = sentences(answer)
    assert none == "No machine holds the limits." and fastest.startswith("Fastest: 8 x h100")
    assert cheapest.startswith("Cheapest: 2 x tpu_v5e") and "bandwidth binds." in cheapest


def test_a_budget_says_nothing_of_a_machine_without_a_price():
    workload, among = train("llama31_8b"), ["h100", "h200"]
    held = sentences(choose(workload, Limits(usd=1000), among))
    assert held[1].startswith("Fastest in budget: 8 x h100")
    assert held[2].startswith("Fastest without a price, maybe too dear: 8 x h200")
    none, fastest, _, other = sentences(choose(workload, Limits(usd=10), among))
    assert none == "No machine with a price holds the limits."
    assert fastest.startswith("Fastest with a price: 8 x h100")
    assert other.startswith("Fastest without a price, maybe too dear: 8 x h200")
    assert len(sentences(choose(workload, Limits(usd=10), ["h100"]))) == 3


def test_a_plan_of_a_training_says_its_layout(capsys):
    answer = choose(train("llama31_8b", context=8192), among=["h100", "b200"])
    show(answer)
    said = {line.split()[0]: line for line in lines(capsys) if line}
    assert said["h100"].endswith(" 4 x 1, ZeRO-3")
    formulas(answer, "h100")
    assert lines(capsys)[1] == "  layout: data 4 x tensor 1, ZeRO-3"


def test_limits_are_said_in_a_unit_of_their_size(capsys):
    workload = train("gpt2", tokens=1e6, context=512)
    for seconds, said in ((7200, "2 h"), (3.5, "3.5 s"), (0.02, "20 ms")):
        show(choose(workload, Limits(seconds=seconds)))
        assert f"within {said} for the whole training" in " ".join(lines(capsys))


def test_formulas_of_some_numbers_alone(capsys):
    answer = choose(serve("llama31_8b", "bf16", 8, 4096))
    formulas(answer, "h100", ["memory", "step"])
    said = lines(capsys)
    assert said[0] == "1 x NVIDIA H100 SXM 80 GB:" and len(said) == 3
    assert said[1].startswith("  memory: ") and said[2].startswith("  step: ")
    with pytest.raises(ValueError, match=r"no number 'speed'\. It has: memory, compute, bandwidth"):
        formulas(answer, "h100", ["speed"])


def test_formulas_name_every_source(capsys):
    formulas(choose(serve("llama31_8b", "bf16", 8, 4096)), "tpu_v5e")
    said = " ".join(" ".join(lines(capsys)).split())
    assert "(8,030,261,248 x 2 + 8 x 4,096 x 131,072) / 2 = 10.2 GB" in said
    assert "its links: 1 µs and 200 GB/s, pods of 256 TPU v5e (Google Cloud TPU" in said
    assert "its memory, 90 % of it for the task: 17.2 GB (published in" in said
    assert "its power: not in the course's table" in said
    assert "its price: 1.2 USD/h (published in" in said
    formulas(choose(serve("llama31_8b")), "pynq_z1")
    assert "no attention" in "\n".join(lines(capsys))


def test_lines_of_formulas_are_not_longer_than_a_line(capsys):
    formulas(choose(serve("llama31_8b", "bf16", 8, 4096)), "tpu_v5e")
    for line in lines(capsys):
        assert len(line) <= 100 or "://" in line


def test_as_json():
    given = json.loads(json.dumps(as_dict(choose(train("llama31_8b"), Limits(usd=1000)))))
    assert given["cheapest"]["machine"] == "h100" and given["cheapest"]["count"] == 2
    assert given["fastest"]["machine"] == "h100" and given["fastest"]["count"] == 8
    counts = [row["count"] for row in given["counts"] if row["machine"] == "h100"]
    assert counts == [2, 4, 8] and all(row["step"]["value"] for row in given["counts"])
    assert given["paid"] == "the training"
    rows = {row["machine"]: row for row in given["machines"]}
    assert rows["h200"]["price"] is None and rows["h200"]["price_source"] is None
    assert rows["h100"]["price"]["unit"] == "USD" and "2025-02" in rows["h100"]["price_source"]
    assert rows["tpu_v5p"]["binds"] == "unknown links" and rows["tpu_v5p"]["count"] is None
    assert not rows["h200"]["can_be_chosen"] and rows["h100"]["can_be_chosen"]


def test_what_changes_the_answer_is_answered_again():
    arguments = {"model": "llama31_8b", "batch": 8, "context": 4096}
    limits = Limits(seconds=0.02)
    said = changes(serve, arguments, limits)
    now = choose(serve(**arguments), limits)
    assert now.cheapest.machine.key == "tpu_v5e" and now.cheapest.fit.plan.count == 2
    then = choose(serve(**arguments, number_format="int8"), limits)
    assert then.cheapest.fit.plan.count == 1
    assert any("With int8, the cheapest in time with a price is" in sentence for sentence in said)
    assert said[-1].startswith("The cheapest in time with a price does not change with twice the")
    for sentence in said[:-1]:
        assert " is " in sentence and "and not" in sentence
    assert "fastest" not in " ".join(said), "that turns on how several machines add up"


def test_a_change_that_hardly_keeps_the_limit_is_marked():
    arguments = {"model": "llama31_8b", "number_format": "fp16", "batch": 8, "context": 4096}
    said = changes(serve, arguments, Limits(seconds=0.050))[-1]
    assert said.count(" of 50 ms)") == 1 and "twice the batch (49.99 of 50 ms)" in said
    twice = choose(serve(**arguments | {"batch": 16}), Limits(seconds=0.050)).cheapest
    assert 0.99 < twice.time.value / 0.050 < 1
    (said,) = changes(serve, {"model": "llama31_8b"}, among=["a100"])
    assert said.startswith("None with a price with twice the batch")
    assert of_limit(7190, 7200) == "1.997 of 2 h" and of_limit(3.49, 3.5) == "3.49 of 3.5 s"


def test_a_change_to_a_price_of_another_kind_is_marked():
    arguments = {"model": "llama31_8b", "number_format": "fp16", "batch": 8, "context": 4096}
    said = {sentence[: sentence.index(",")]: sentence for sentence in changes(serve, arguments)}
    assert said["With bf16"] == (
        "With bf16, the cheapest with a price is 2 x tpu_v5e and not 2 x t4 "
        "(the price of t4 leaves its host computer out)."
    )
    assert said["With int8"].endswith(" is t4 and not 2 x t4."), "both are the T4's"
    among = [machine("h100"), machine("tpu_v5e")]
    bf16 = {"model": "llama31_8b", "batch": 8, "context": 4096}
    assert not any("(the price" in sentence for sentence in changes(serve, bf16, among=among))


@pytest.mark.parametrize("budget", [1.5, None])
def test_changes_try_the_limits_too(budget):
    said = " ".join(changes(serve, {"model": "llama31_8b"}, Limits(seconds=0.01, usd=budget)))
    assert "twice the time" in said and "half the efficiency" in said
    assert ("twice the budget" in said) == (budget is not None)
