"""The weights that come with labkit: what their log says, recomputed, and the text they write."""

import hashlib
import itertools
import json
import math
import re
from collections import Counter
from pathlib import Path

import pytest
import torch

from labkit.distributed.gpt.text import BOOK, CHARACTERS, decode, emma
from labkit.distributed.gpt.training import evaluate
from labkit.distributed.gpt.weights import TRAINED, trained
from labkit_lessons.distributed.a_tokens_cost.generation import generate

LOG = TRAINED.with_name("gpt.log.jsonl")
ROUNDING = 1e-4  # nats: another processor, or another number of threads, adds in another order


@pytest.fixture(scope="module")
def model():
    return trained()


@pytest.fixture(scope="module")
def log():
    return [json.loads(line) for line in LOG.read_text("utf-8").splitlines()]


def loss_of_pairs():
    """Nats per character of the validation text when only the last character is known."""
    book = emma()
    train, validation = decode(book.train), decode(book.validation)
    pairs = Counter(itertools.pairwise(train))
    firsts = Counter(train[:-1])
    total = 0.0
    for pair in itertools.pairwise(validation):
        total -= math.log((pairs[pair] + 1) / (firsts[pair[0]] + len(CHARACTERS)))
    return total / (len(validation) - 1)


def test_the_log_is_tied_to_the_weights(log):
    assert log[-1]["result"] == TRAINED.name
    assert log[-1]["sha256"] == hashlib.sha256(TRAINED.read_bytes()).hexdigest()


def test_the_log_tells_the_whole_run(log):
    run, *looks, result = log
    steps, every = run["arguments"]["steps"], run["arguments"]["every"]
    assert [look["step"] for look in looks] == list(range(every, steps + 1, every))
    assert (run["training_characters"], run["validation_characters"]) == (798_363, 88_708)
    assert looks[-1]["validation_loss"] == round(result["validation_loss"], 4)
    assert {"torch", "labkit", "python"} <= set(run["versions"])
    assert "/" not in json.dumps(log)


def test_the_weights_reach_the_logged_loss(model, log):
    loss = evaluate(model, emma().validation, length=128)
    assert loss == pytest.approx(log[-1]["validation_loss"], abs=ROUNDING)


def test_more_than_the_last_character_was_learned_and_the_book_was_not_learned_by_heart(log):
    result = log[-1]
    assert result["validation_loss"] < loss_of_pairs() - 0.8
    assert result["validation_loss"] - result["training_loss"] < 0.15


def test_each_call_makes_a_model_of_its_own(model):
    other = trained()
    with torch.no_grad():
        other.head.weight.zero_()
    assert trained().head.weight.abs().sum() == model.head.weight.abs().sum() > 0


def test_the_likeliest_text_is_the_same_each_time_and_made_of_the_book_s_words(model):
    text = generate(model, "Emma ", 100, temperature=0)
    assert text == generate(model, "Emma ", 100, temperature=0, seed=1)
    known = set(re.findall(r"\w+", BOOK.read_text("ascii")))
    words = re.findall(r"\w+", text)[:-1]  # the last one may be cut
    assert len(words) > 10
    assert sum(word in known for word in words) >= 0.9 * len(words)


def test_data_md_says_what_the_log_says(log):
    page = (Path(__file__).parents[3] / "DATA.md").read_text("utf-8")
    result = log[-1]
    for name in ("steps", "sequences", "length", "seed"):
        assert f"--{name} {log[0]['arguments'][name]}" in page
    assert f"**{result['validation_loss']:.3f} nats" in page
    assert f"{result['training_loss']:.3f} on the training text" in page
