"""This lesson: the numbers of its text, and that what it prints follows what it computes."""

import re

import numpy as np
import pytest
import torch

from labkit.course.config import config
from labkit.distributed.costs import inference_costs as costs
from labkit.distributed.costs.language_models import LanguageModel, language_model
from labkit.distributed.gpt.model import GPT, Config
from labkit.hardware import machine, machines
from labkit_lessons.distributed.a_tokens_cost.cache import Reader, read
from tests.notebooks.running import Run

WRITES, COUNTS, LENGTHS = "by_cache = cache.generate", "step.operations", "measure_again(gpt"
WIDE, ROOFLINE, TRIAL = "measure_step(wide", "figures.roofline", "on_every_machine"
LLAMA, H100 = language_model("llama31_8b"), machine("h100")


@pytest.fixture(scope="module")
def lesson():
    """With the threads that were there before; the lesson takes one."""
    threads = torch.get_num_threads()
    yield Run("04_distributed", "13_a_tokens_cost")
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def text():
    path = config().course_root() / "chapters/04_distributed/source/a_tokens_cost/lesson.py"
    return path.read_text("utf-8")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def table(said):
    """The rows of a printed table: cells are two spaces or more apart."""
    return [re.split(r"  +", line.strip()) for line in said.splitlines()]


def test_the_opening(text):
    flops = LLAMA.forward_flops(new=1)
    assert float(H100.rate("bf16")) == 989.4e12 and H100.rate("bf16").word == "published"
    assert round(flops / 1e9) == 15
    assert round(989.4e12 / flops, -3) == 66_000
    alone = costs.seconds(costs.work(LLAMA, new=1), H100)
    assert int(1 / float(alone)) == 223  # with nothing behind; more behind takes longer
    later = costs.seconds(costs.work(LLAMA, new=1, past=1000), H100)
    assert float(later) > float(alone)
    multiplied = f"{LLAMA.matmul_parameters / 1e9:.1f} of {LLAMA.parameters / 1e9:.0f} billion"
    assert multiplied == "7.5 of 8 billion"
    assert f"Llama 3.1 8B multiplies with {multiplied}" in text


def test_the_openings_bound_is_one_of_steps_with_a_token_each(text):
    """gpt-fast's README: 25.25 tokens/s at 1097.66 GB/s in 4 bits, and 48.4 with a draft."""
    assert "with weights of two bytes and a token in each step, gets 223 at most" in text
    one_each = float(machine("a100").bandwidth) / (1097.66e9 / 25.25)
    assert "48.4 tokens a second of Llama 2 70B in 4 bits on an A100, instead of 25.25" in text
    assert 25.25 < one_each < 48.4


def test_the_examples_by_hand(lesson):
    step_flops, attend_one = lesson.namespace["step_flops"], lesson.namespace["attend_one"]
    decode_seconds = lesson.namespace["decode_seconds"]
    assert step_flops(np.array([4]), 2, 100, 2, 3).tolist() == [400 + 288] == [688]
    query, key = np.array([[1.0, 0, 0, 0]]), np.array([[2.2, 0, 0, 0]])
    older = np.array([[[0.0, 5, 0, 0]]])
    mixed, keys, _ = attend_one(query, key, 0 * key + 4, older, 0 * older + 8)
    assert np.allclose(mixed, 5, atol=0.01) and keys.shape == (2, 1, 4)
    assert step_flops(np.array([3, 0]), 1, 100, 2, 12).tolist() == [584, 296]
    given = (np.array([3, 0]), 100, 2, 4, 2, 3, 2)
    assert decode_seconds(*given, 100, 1e9) == 8.8
    assert decode_seconds(*given, 1e9, 100) == 5.36
    assert 200 + 240 + 96 == 536 and round(880 / 536, 1) == 1.6


def test_the_exercises_are_solved(lesson):
    for name in ("step_flops", "attend_one", "decode_seconds"):
        assert "is solved" in printed(lesson, f'check("distributed.{name}"')


def test_the_learners_seconds_are_those_of_the_course(lesson):
    """On every machine; norms, which only labkit counts, are 0.004 % of the weights."""
    for device in machines().values():
        size = costs.number_bytes(device)
        rate = float(device.rate(costs.number_format(device)))
        yours = lesson.namespace["decode_seconds"](
            np.full(16, 1000), LLAMA.matmul_parameters, 32, 32, 8, 128, size,
            rate, float(device.bandwidth),
        )  # fmt: skip
        ours = costs.seconds(costs.work(LLAMA, 1, 1000, 16, size), device)
        assert yours == pytest.approx(float(ours), rel=1e-4)


def test_the_table_of_models(lesson):
    rows = {row[0]: row[1:] for row in table(printed(lesson, "model.kv_heads"))}
    assert rows["Llama 3.1 8B"] == ["8", "128 GB", "16.1 GB", "131 kB", "1.07 GB"]
    assert rows["Llama 2 7B"] == ["32", "108 GB", "13.5 GB", "524 kB", "4.29 GB"]
    assert {"GPT-2 (124M)", "Llama 3.1 405B"} <= rows.keys()


def test_all_write_the_same(lesson):
    said = printed(lesson, WRITES)
    assert "yours: 120 equal: True" in said and "labkit's: 140 equal: True" in said


def test_a_wrong_attention_would_show_and_a_cache_that_outlives_its_context(lesson, monkeypatch):
    """140 characters behind a prompt of 5 go beyond the 128 that the context holds."""
    attend_one = lesson.namespace["attend_one"]

    def without_the_cache(q, k, v, keys, values):
        mixed, _, _ = attend_one(q, k, v, keys[:0], values[:0])
        return mixed, np.concatenate([keys, k[None]]), np.concatenate([values, v[None]])

    def keeps_positions(self, text):
        self.cache.length = min(self.cache.length, 127)
        text = text[-128:]
        return read(self.model, text[None, self.cache.length :], self.cache)[0, -1]

    monkeypatch.setattr(Reader, "logits", keeps_positions)
    said, _ = lesson.again(WRITES, attend_one=without_the_cache)
    assert "yours: 120 equal: False" in said and "labkit's: 140 equal: False" in said


def test_the_counts(lesson):
    said = printed(lesson, COUNTS)
    rows = [row for row in table(said) if row[0] in ("prefill", "decode")]
    assert [row[2] for row in rows] == ["yes"] * 3
    assert [row[3] for row in rows] == ["180 MFLOP", "1.8 MFLOP", "28.8 MFLOP"]
    assert [row[4] for row in rows] == ["3.21 MB"] * 3
    assert [row[5] for row in rows] == ["410 kB", "410 kB", "6.55 MB"]
    assert "operations of a decode step: 74 (counted" in said
    assert "16 x 100 tokens' cache: 6.55 MB (predicted" in said
    half, _ = lesson.again(COUNTS, step_flops=lambda *sizes: np.array([1]))
    assert [row[2] for row in table(half) if row[0] in ("prefill", "decode")] == ["no"] * 3


def test_what_is_timed_is_what_the_table_says(lesson):
    """Not how long it takes: which steps, and with how many FLOPs."""
    fewer = [row[3] for row in table(printed(lesson, LENGTHS)) if row[0] in ("256", "1,000")]
    assert fewer == ["256", "1,000"]
    wide = lesson.namespace["wide"]
    weights = sum(weight.numel() for weight in wide.parameters())
    assert round(weights / 1e6) == 76 and round(4 * weights / 1e6) == 303
    rows = [row for row in table(printed(lesson, WIDE)) if row[0] in ("1", "64")]
    assert [row[:3] for row in rows] == [
        ["1", "153 MFLOP", "303 MB"],
        ["64", "9.78 GFLOP", "303 MB"],
    ]
    taken, results = lesson.namespace["taken"], lesson.namespace["results"]
    assert float(results["64 sequences"]) == taken[64] / taken[1]


def test_fewer_flops_by_as_many_times_as_there_are_tokens():
    sizes = LanguageModel.of(Config(context=1024))
    for length in (1, 64, 999, 1000):
        assert sizes.forward_flops(length) == length * sizes.forward_flops(1, length - 1)


def test_the_roofline_and_the_text_below_it(lesson):
    steps = lesson.namespace["steps"]
    assert list(steps) == ["prefill of 1,000", *(f"decode, {n} at once" for n in (1, 16, 464))]
    said = printed(lesson, ROOFLINE)
    left = "decode, 1 at once, decode, 16 at once, decode, 464 at once."
    assert f"left of the ridge: {left}" in said and "right of it: prefill of 1,000." in said
    one = steps["decode, 1 at once"]
    assert "decode, 1 at once: 4.52 ms (predicted by your decode_seconds)" in said
    assert float(costs.seconds(one, H100)) == pytest.approx(4.52e-3, rel=1e-3)
    assert (round(one.flops / 1e9, 1), round(one.bytes / 1e9, 1)) == (15.5, 15.1)
    assert round(H100.ridge("bf16")) == 295
    own_cache = one.bytes - 2 * LLAMA.read_parameters
    assert round(own_cache / 1e6) == 131
    assert round(15_500 / 131) == 118 == round(one.flops / own_cache)
    many = costs.work(LLAMA, new=1, past=1000, sequences=10**9)
    assert many.intensity < one.flops / own_cache
    assert costs.compute_bound_from(LLAMA, 1000, H100) is None


def test_the_verdict_and_the_rule(lesson):
    said = printed(lesson, TRIAL)
    count = len(machines())
    for words in ("machines", "prefill bound by compute", "decode bound by bandwidth"):
        assert f"{words}: {count}\n" in said
    for new in range(1, 296):
        assert costs.bound(costs.work(LLAMA, new=new), H100) == "bandwidth" or new > 290
    assert costs.bound(costs.work(LLAMA, new=300), H100) == "compute"
    every = costs.on_every_machine(LLAMA, 1000)
    enough = [row for row in every if row.compute_from and row.compute_from <= (row.fit or 0)]
    assert {row.machine.key for row in enough} == {"server_cpu", "m3_max"}
    assert all(row.number_format == "bf16" for row in every if row.machine.key == "a6000")
    assert costs.compute_bound_from(LLAMA, 1000, H100) is None  # "however many"
    small, _ = lesson.again(TRIAL, llama=LanguageModel.of(Config()))
    assert small != said


def test_what_the_mask_hides(text):
    """Counted by pairs: of n x n, those in which a token would read a later one."""
    shares = {}
    for n in (8_192, 131_072):
        hidden = n * (n - 1) // 2 * 4 * LLAMA.layers * LLAMA.heads * LLAMA.head_width
        shares[n] = round(100 * hidden / LLAMA.forward_flops(n))
    assert shares == {8_192: 11, 131_072: 41}
    assert "11 % of these FLOPs with 8,192 tokens, and 41 % with 131,072" in text
    assert "nothing passes" not in text
    seen = LLAMA.forward_flops(1000) - LLAMA.attention_flops(1000) / 2  # still bound by compute
    for device in machines().values():
        step = costs.work(LLAMA, 1000, size=costs.number_bytes(device))
        assert seen / step.bytes > device.ridge(costs.number_format(device))


def test_the_quizzes():
    short, long = costs.work(LLAMA, new=2000), costs.work(LLAMA, new=4000)
    times = float(costs.seconds(long, H100)) / float(costs.seconds(short, H100))
    assert 2 < times < 2.2


def test_the_context_of_the_chapters_gpt(text):
    assert GPT().config.context == 128 and "room for 128 tokens" in text
