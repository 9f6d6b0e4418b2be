"""The book as whole numbers: beside its file, by hand, and bad inputs."""

import hashlib
from pathlib import Path

import pytest
import torch

from labkit.distributed.gpt.model import Config
from labkit.distributed.gpt.text import BOOK, CHARACTERS, batch, decode, emma, encode

SHA256 = "71b0923d75fcf2f1faa897b22da8de8e2476d7478a2b22388eb58a3420e00215"
DATA = Path(__file__).parents[3] / "DATA.md"


def test_the_book_is_the_one_whose_terms_are_stated():
    content = BOOK.read_bytes()
    assert len(content) == 887_071
    assert hashlib.sha256(content).hexdigest() == SHA256
    page = DATA.read_text("utf-8")
    assert SHA256 in page and "887,071 bytes" in page


def test_both_parts_together_are_the_file():
    book = emma()
    assert decode(torch.cat([book.train, book.validation])).encode() == BOOK.read_bytes()
    assert (len(book.train), len(book.validation)) == (798_363, 88_708)
    assert book.train.dtype == book.validation.dtype == torch.int64


def test_every_character_of_the_book_has_one_token_and_no_other_has():
    assert sorted(CHARACTERS) == sorted(set(BOOK.read_text("ascii")))
    tokens = encode(CHARACTERS)
    assert tokens.tolist() == list(range(77))
    assert Config().vocabulary == 80 >= len(CHARACTERS)


def test_encode_and_decode_by_hand():
    assert encode("\n !").tolist() == [0, 1, 2]
    assert decode(torch.tensor([2, 1, 0])) == "! \n"
    assert encode("").shape == (0,)
    assert decode(encode("")) == ""


def test_a_character_that_the_book_lacks_is_named():
    with pytest.raises(ValueError, match=r"the book has no 'é' \(position 3\)"):
        encode("café")


@pytest.mark.parametrize(("sequences", "length"), [(1, 1), (3, 7), (8, 64)])
def test_targets_are_the_inputs_moved_on_by_one(sequences, length):
    tokens = torch.arange(100, 300)  # each token says where it comes from
    inputs, targets = batch(tokens, seed=5, sequences=sequences, length=length)
    assert inputs.shape == targets.shape == (sequences, length)
    assert torch.equal(targets, inputs + 1)
    assert torch.equal(inputs, inputs[:, :1] + torch.arange(length))


def test_equal_seeds_give_equal_batches_and_others_others():
    tokens = torch.arange(1000)
    first, _ = batch(tokens, 1, 4, 8)
    torch.rand(3)  # what others draw must not matter
    again, _ = batch(tokens, 1, 4, 8)
    other, _ = batch(tokens, 2, 4, 8)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_pieces_come_from_everywhere_the_last_place_too():
    tokens = torch.arange(6)
    starts = set()
    for seed in range(40):
        inputs, _ = batch(tokens, seed, 2, 2)
        starts |= set(inputs[:, 0].tolist())
    assert starts == {0, 1, 2, 3}
    inputs, targets = batch(tokens, 0, 1, 5)  # the only piece
    assert (inputs.tolist(), targets.tolist()) == ([[0, 1, 2, 3, 4]], [[1, 2, 3, 4, 5]])


@pytest.mark.parametrize(
    ("sequences", "length", "sentence"),
    [
        (0, 4, "0 sequences of 4 tokens; both are at least 1"),
        (2, 0, "2 sequences of 0 tokens"),
        (1, 6, "a piece takes 7 tokens, and there are 6"),
    ],
)
def test_sizes_that_make_no_batch_are_refused(sequences, length, sentence):
    with pytest.raises(ValueError, match=sentence):
        batch(torch.arange(6), 0, sequences, length)
