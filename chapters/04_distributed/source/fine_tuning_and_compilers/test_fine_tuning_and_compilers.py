"""This lesson: the numbers of its text, and that what it prints follows what its models do."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
import pytest
import torch

from labkit.distributed.costs.language_models import language_model
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import evaluate
from labkit.distributed.gpt.weights import trained
from labkit_lessons.distributed.fine_tuning_and_compilers.compiled import operators_of
from labkit_lessons.distributed.fine_tuning_and_compilers.exercises.lora import right
from tests.notebooks.running import Run

CHECK, TRAINING, COMPILERS = "query.frozen.bias", "step_memory(", "exported("
COURSE = Path(__file__).resolve().parents[4]
SECONDS, SHAPES, FACTS = "as_numpy(first)", "def twice", "facts = ["


@pytest.fixture(scope="module")
def lesson():
    return Run("04_distributed", "14_fine_tuning_and_compilers")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def rows(said):
    """The lines of a table, by their first column."""
    cells = [re.split(r"  +", line.strip()) for line in said.splitlines()]
    return {row[0]: row[1:] for row in cells if len(row) > 2}


def test_the_small_examples():
    x = np.array([[1.0, 2, 3]])
    w = np.array([[1.0, 0, 0], [0, 1, 0]])
    y, _ = right(x, w, np.array([[1.0, 0, 1]]), np.array([[1.0], [-1]]), 2)
    assert y.tolist() == [[9, -6]]
    assert 4 * (128 + 128) == 1_024 and 128 * 128 == 16_384 == 16 * 1_024


def test_the_numbers_of_large_models():
    llama = language_model("llama31_8b")
    assert round(llama.parameters / 1e9, 2) == 8.03 and int(llama.parameters * 16 / 1e9) == 128
    assert int(llama.parameters * 2 / 1e9) == 16
    whole = 2 * llama.vocabulary * llama.width  # embedding and head, which QLoRA leaves as they are
    bits = 4 + 8 / 64 + 32 / (64 * 256)  # the paper: blocks of 64, and 256 scales under one more
    assert round(bits, 3) == 4.127
    assert round((2 * whole + (llama.parameters - whole) * bits / 8) / 1e9, 1) == 5.7
    query, value = llama.width, llama.kv_heads * llama.head_width  # outputs, for width inputs
    lora = llama.layers * 4 * (llama.width + query + llama.width + value)
    assert round(lora * 16 / 1e6) == 27
    assert 2 * 8 * 4096 == 65_536 and round(65_536 * 8 / 1e3) == 524  # the quiz
    assert round(4096 * 4096 * 8 / 1e6) == 134


def test_the_exercises_are_solved(lesson):
    for name in ("lora_layer", "compare"):
        assert "is solved" in printed(lesson, f'check("distributed.{name}"')


def test_the_check_follows_the_answers(lesson):
    assert printed(lesson, CHECK).count("True") == 2
    said, _ = lesson.again(CHECK, lora_layer=lambda x, w, a, b, alpha: (x @ w.T, w))
    assert said.count("False") == 2


def test_fine_tuning_and_its_memory(lesson):
    before = evaluate(trained(), lesson.namespace["unseen"], length=64)
    assert round(before, 1) == 4.0
    assert round(evaluate(trained(), emma().validation[:10_000], length=64), 1) == 1.3
    table = rows(printed(lesson, TRAINING))
    whole, lora = table["all parameters"], table["LoRA"]
    assert whole[:2] == ["830,208", "1.5"] and lora[:2] == ["8,192", "1.5"]
    assert whole[2:] == ["3.32 MB", "3.32 MB", "6.64 MB", "20.5 MB", "30.5 MB"]
    assert lora[2:] == ["3.35 MB", "32.8 kB", "65.6 kB", "14.5 MB", "17.9 MB"]
    assert round(100 * (1 - 17.9477 / 30.5022)) == 41 and round(100 * (1 - 14.5285 / 20.4974)) == 29
    peaks = lesson.namespace["peaks"]
    assert peaks == {"all parameters": 30_502_172, "LoRA": 17_947_720}
    assert "losses within 0.1 nats: True" in printed(lesson, TRAINING)
    assert float(lesson.namespace["results"]["memory with LoRA"]) == 17.9


@pytest.mark.night(instead="chapters/04_distributed/14_fine_tuning_and_compilers.ipynb")
def test_each_learning_rate_is_the_best_of_three(lesson):
    names = ("with_underscores", "replace", "plan", "book", "unseen", "train", "lora")
    given = {name: lesson.namespace[name] for name in names}
    for rates in ((1e-4, 3e-4, 1e-3), (3e-3, 1e-2, 3e-2)):
        found = []
        for rate in rates:
            whole = rates[1] == 3e-4
            model = trained() if whole else given["lora"].adapt(trained(), rank=4, alpha=8)
            given["train"](model, given["book"], replace(given["plan"], learning_rate=rate))
            found.append(evaluate(model, given["unseen"], length=64))
        assert found[1] < min(found[0], found[2])


def test_a_training_that_does_nothing_would_show(lesson):
    said, _ = lesson.again(TRAINING, train=lambda *given: None)
    assert rows(said)["LoRA"][1] == rows(said)["all parameters"][1] == "4"


def test_kernels_and_nodes(lesson):
    said = printed(lesson, COMPILERS)
    table = rows(said)
    assert table["a block, eager"][0] == "19" and table["a block, torch.compile"][0] == "14"
    assert table["GPT, eager"][0] == "82"
    assert table["GPT, as exported"] == ["113", "yes"] and table["GPT, rewritten"] == ["79", "yes"]
    assert table["a block, torch.compile"][-1] == "yes"
    kernels = lesson.namespace["fast"].kernels
    eager = operators_of(lesson.namespace["block"], lesson.namespace["x"])
    assert len(eager) == 19
    products = [name for name in kernels if name.startswith("extern")]
    assert len(products) == 8 == eager.count("addmm") + eager.count("bmm") and len(kernels) == 14
    (second,) = (name for name in kernels if name.endswith("_1"))
    assert all(word in second for word in ("softmax", "div", "masked_fill", "ones", "triu"))


def test_which_kernels_the_export_adds_and_the_rewriting_spares(lesson):
    plain, rewritten = lesson.namespace["plain"].nodes, lesson.namespace["rewritten"].nodes
    eager = Counter(operators_of(lesson.namespace["whole"], lesson.namespace["tokens"]))
    split = eager["addmm"]
    copied = plain["Transpose"] - eager["clone"]
    of_masks = eager["ones"] + eager["triu"] + eager["arange"] - plain["Trilu"]
    assert sum(eager.values()) == 82 and 82 + split + copied - of_masks == 113
    spared = Counter(plain) - Counter(rewritten)
    fused = ("Gemm", "FusedMatMul", "SkipLayerNormalization")
    assert [rewritten[name] for name in fused] == [24, 4, 1] and "MatMul" in spared
    assert (spared["Add"], spared["Div"], spared["Trilu"], spared["Gather"]) == (25, 4, 4, 1)
    assert 24 + 4 + 1 + 4 + 1 == 34 == 113 - 79
    said = printed(lesson, COMPILERS)
    assert "'Gemm': 24" in said and "'FusedMatMul': 4" in said and "'MatMul': 33" in said


def test_another_model_behind_the_session_would_show(lesson):
    class Zeros:
        nodes = dict.fromkeys(("Gemm", "FusedMatMul", "SkipLayerNormalization"), 7)

        def __init__(self, graph, optimise=True):
            assert isinstance(graph, bytes)

        def __call__(self, tokens):
            return torch.zeros(80)

    broken = lesson.cell(COMPILERS).replace("onnx_runtime.Session(", "Zeros(")
    namespace = lesson.before[lesson.cell(COMPILERS)] | {"Zeros": Zeros}
    said = lesson.execute(broken, namespace)
    assert rows(said)["GPT, rewritten"] == ["21", "no"] and "'Gemm': 7" in said


def test_the_stopwatch_is_the_learners(lesson):
    said, _ = lesson.again(SECONDS, compare=lambda *given: (1.0, 2.0))
    assert said.count("1 s (measured") == said.count("2 s (measured") == 3


def test_the_clock_counts_this_program_alone(lesson):
    clock = lesson.namespace["clock"]
    assert clock() <= process_time() <= clock()


def test_what_gpt_fast_published():
    """Its README: tokens/s and GB/s for Llama 2 7B; bytes of a token are their quotient."""
    read = {"bfloat16": 1397.31, "int8": 1069.20, "int4": 862.69}
    tokens = {"bfloat16": 104.9, "int8": 155.58, "int4": 196.80}
    each = {name: read[name] / tokens[name] for name in read}
    faster = [round(tokens[name] / tokens["bfloat16"], 1) for name in ("int8", "int4")]
    fewer = [round(each["bfloat16"] / each[name], 1) for name in ("int8", "int4")]
    text = (
        COURSE / "chapters/04_distributed/source/fine_tuning_and_compilers/lesson.py"
    ).read_text()
    rates = [f"{rate:.1f}" for rate in tokens.values()]
    assert "{} tokens a second in bfloat16, {} with int8 and {} with int4".format(*rates) in text
    assert "{} and {:g} times the speed, for {} and {:g} times".format(*faster, *fewer) in text


def test_a_shape_is_no_evidence(lesson):
    table = rows(printed(lesson, SHAPES))
    assert table["compiled"] == ["yes", "yes", "14"]
    assert table["zeros"] == ["yes", "no", "1"]
    assert table["twice"] == ["yes", "yes", "38"]


def test_no_fact_of_the_claim_is_true(lesson):
    assert "true: 0 of 5" in printed(lesson, FACTS)


def test_whether_a_fact_is_the_claim_is_computed(lesson):
    cell = lesson.cell(FACTS)
    said = lesson.execute(cell.replace('"OpenAI"', '"Huawei"'), dict(lesson.before[cell]))
    assert "true: 1 of 5" in said
