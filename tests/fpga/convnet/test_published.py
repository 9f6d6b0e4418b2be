"""What is published of the Pynq boards, and what is predicted for ours."""

import tomllib
from pathlib import Path

import pytest

from labkit.fpga.convnet import budget, published
from labkit.fpga.convnet.published import DESIGNS, UNITS, predicted_rate
from labkit.provenance import counted
from labkit.provenance import published as publish

TABLE = tomllib.loads(Path(published.__file__).with_suffix(".toml").read_text("utf-8"))


def figures(design):
    return {name: getattr(design, name) for name in ("rate", *UNITS) if getattr(design, name)}


@pytest.mark.parametrize("key", DESIGNS)
def test_every_figure_has_a_source_that_can_be_opened(key):
    found = figures(DESIGNS[key])
    assert found
    for quantity in found.values():
        assert quantity.word == "published"
        assert "https://github.com/" in quantity.source


def test_every_source_is_used():
    used = {
        figure["source"]
        for row in TABLE["designs"].values()
        for figure in row.values()
        if isinstance(figure, dict)
    }
    assert used == set(TABLE["sources"])


def test_every_rate_says_how_its_images_come():
    for design in DESIGNS.values():
        assert bool(design.images) == (design.rate is not None)
    assert DESIGNS["cnv_w1a1"].images == "10,000 at once"
    assert DESIGNS["finn_cnv_w1a1"].images == "one at a time"


@pytest.mark.parametrize("key", DESIGNS)
def test_figures_agree_with_each_other_and_with_the_device(key):
    """A watt is a joule per second, and nothing takes more than there is."""
    found = figures(DESIGNS[key])
    for resource in budget.RESOURCES:
        if resource in found:
            assert float(found[resource]) <= float(budget.available(resource))
    if "energy" in found:
        energy = 1e3 * float(found["power"]) / float(found["rate"])
        assert float(found["energy"]) == pytest.approx(energy, rel=2e-3)
    if {"rate", "latency"} <= set(found):
        assert float(found["latency"]) >= 1 / float(found["rate"])


@pytest.mark.parametrize("key", ["cnv_w1a1", "cnv_w1a2"])
def test_the_rates_are_of_a_pynq_at_its_clock_and_not_of_a_faster_board(key):
    """The slowest layer of CNV, 256 to 512 with four multipliers, has a cycle for each product."""
    slowest = 256 * 512 // 4
    row = TABLE["designs"][key]
    rate, source = row["rate"]["value"], TABLE["sources"][row["rate"]["source"]]
    assert "Pynq" in row["board"] and source["clock"] == 100e6
    assert 0.99 < rate * slowest / source["clock"] <= 1
    ultra96 = 9_150.5
    assert ultra96 * slowest / source["clock"] > 2.9, "that would need 300 MHz"


def test_a_prediction_says_what_it_assumes():
    found = predicted_rate(counted(1_000_000, "cycles", "us"), images=16)
    assert float(found.rate) == 1600
    assert float(found.latency) == 0.01
    assert "an assumed clock of 100 MHz" in str(found.rate)
    assert "1.67 W of a whole board (published in MLPerf Tiny" in found.energy.source
    assert {one.word for one in (found.rate, found.latency, found.energy)} == {"predicted"}


def test_energy_is_power_times_time_by_image():
    half = predicted_rate(50_000, hertz=50e6, images=2, power=publish(3, "W", "a shelf"))
    assert float(half.energy) == pytest.approx(3 / 2)


@pytest.mark.parametrize(
    "wrong", [{"cycles": 0}, {"cycles": 9, "hertz": 0}, {"cycles": 9, "images": 0}]
)
def test_nothing_is_predicted_of_nothing(wrong):
    with pytest.raises(ValueError, match="each above 0"):
        predicted_rate(**wrong)
