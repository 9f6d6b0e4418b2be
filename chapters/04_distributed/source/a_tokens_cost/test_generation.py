"""Generated text beside a loop written out by hand, by counted draws, and bad inputs."""

import pytest
import torch

from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.gpt.text import CHARACTERS, decode, encode
from labkit_lessons.distributed.a_tokens_cost.generation import choose, generate

SMALL = Config(context=8, width=8, heads=2, layers=1)


@pytest.fixture(scope="module")
def model():
    """Of random weights, larger than a fresh model's, so that it prefers some characters."""
    model = GPT(SMALL)
    with torch.no_grad():
        for weight in model.parameters():
            weight *= 10
    return model


def test_the_likeliest_character_follows(model):
    text = "Emma"
    for _ in range(20):  # beyond the context of 8
        last = model(encode(text[-8:]).reshape(1, -1))[0, -1, :77]
        text += CHARACTERS[int(last.argmax())]
    assert generate(model, "Emma", 20, temperature=0) == text[4:]
    assert len(set(text)) > 3


def test_equal_seeds_give_equal_texts_whatever_was_drawn_before(model):
    first = generate(model, "She ", 30, temperature=1.0, seed=1)
    torch.rand(5)
    assert generate(model, "She ", 30, temperature=1.0, seed=1) == first
    assert generate(model, "She ", 30, temperature=1.0, seed=2) != first
    assert len(first) == 30


def test_characters_are_drawn_as_often_as_the_softmax_says():
    logits = torch.full((80,), -30.0)
    logits[5], logits[7] = 1.0, 2.0
    random = torch.Generator().manual_seed(0)
    for temperature in (1.0, 0.5):
        drawn = [int(choose(logits, temperature, random)) for _ in range(2000)]
        assert set(drawn) == {5, 7}
        expected = 1 / (1 + torch.e ** (1 / temperature))
        assert abs(drawn.count(5) / 2000 - expected) < 0.04


@pytest.mark.parametrize("temperature", [0, 0.1, 10])
def test_no_token_without_a_character_is_chosen(temperature):
    logits = torch.zeros(80)
    logits[77:] = 9.0
    random = torch.Generator().manual_seed(0)
    for _ in range(50):
        assert decode(choose(logits, temperature, random)) in CHARACTERS


def test_no_tokens_are_no_text(model):
    assert generate(model, "Emma", 0) == ""


@pytest.mark.parametrize(
    ("prompt", "tokens", "temperature", "sentence"),
    [
        ("", 3, 1.0, "the prompt is empty"),
        ("Emma", -1, 1.0, "-1 tokens; give 0 or more"),
        ("Emma", 3, -0.5, "a temperature is 0 or more, not -0.5"),
        ("Emma", 3, float("nan"), "a temperature is 0 or more, not nan"),
        ("Ünder", 3, 1.0, "the book has no 'Ü'"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(model, prompt, tokens, temperature, sentence):
    with pytest.raises(ValueError, match=sentence):
        generate(model, prompt, tokens, temperature)
