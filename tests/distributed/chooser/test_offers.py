"""Your own prices and machines, from the command line."""

import json

import pytest

from labkit.cli import main
from labkit.distributed.chooser.offers import offered, own_machine
from labkit.hardware import machine

ROW = """
name = "Our card"
peak.bf16 = 200e12
bandwidth = 1e12
memory = 24e9
"""


@pytest.fixture
def card(tmp_path):
    path = tmp_path / "card.toml"
    path.write_text(ROW + "power = 300\nprice = 1.5\n")
    return str(path)


def test_without_a_word_it_is_the_table():
    assert offered(None, [], []) is None
    assert [one.key for one in offered(["t4", "h100"], [], [])] == ["t4", "h100"]


def test_your_price_is_yours(capsys):
    prices = "--price h100=2.5 --price a100=1.2,h200=3"
    assert main(f"choose serve --model llama31_8b {prices} --json".split()) == 0
    rows = {row["machine"]: row for row in json.loads(capsys.readouterr().out)["machines"]}
    for key, usd in (("h100", 2.5), ("a100", 1.2), ("h200", 3)):
        hours = rows[key]["time"]["value"] * 1e6 / 3600
        assert rows[key]["price"]["value"] == pytest.approx(usd * hours)
        assert "your own price" in rows[key]["price_source"]
    assert rows["b200"]["price"] is None and len(rows) > 10
    assert float(machine("h100").price) == 10.8, "the table stays as it is"


def test_a_machine_of_your_own_beside_others(card, capsys):
    one = own_machine(card)
    assert (one.key, one.kind, float(one.price), one.price.unit) == ("card", "gpu", 1.5, "USD/h")
    assert [each.key for each in offered(["h100"], ["card=9"], [card])] == ["card", "h100"]
    said = f"choose serve --model llama32_1b --machine {card} --machines h100 --price card=1"
    assert main(said.split()) == 0
    assert capsys.readouterr().out.startswith("Cheapest: card, ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("peak.bf16 = ", "is no TOML"),
        ("name = 'x'", "has no peak; a machine needs peak, bandwidth, memory"),
        ("peak = {}\nbandwidth = 1\nmemory = 1", "peak has a rate for each format"),
        (ROW + "speed = 3", "a machine has no 'speed'. It has: name"),
        (ROW + "peak.bf17 = 3", "no format 'bf17'. There are: fp64"),
        (ROW + "power = -3", "power is a number above 0, not -3"),
        (ROW + "price = 'much'", "price is a number above 0, not 'much'"),
        (ROW + "kind = 'abacus'", "kind is one of cpu, gpu, tpu, not 'abacus'"),
    ],
)
def test_a_row_that_cannot_be_is_a_sentence(tmp_path, capsys, text, words):
    path = tmp_path / "x.toml"
    path.write_text(text)
    assert main(["choose", "serve", "--model", "gpt2", "--machine", str(path)]) == 1
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1 and "x.toml" in said
