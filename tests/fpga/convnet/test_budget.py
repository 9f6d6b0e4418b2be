"""labkit.fpga.convnet.budget: the FPGA's figures, the costs of cells, and the picture."""

import pytest
from matplotlib.colors import to_hex

from labkit.figures.style import ORANGE
from labkit.fpga.convnet import budget
from labkit.fpga.errors import RTLError
from labkit.fpga.synthesize import Synthesis
from labkit.fpga.toolchain.multipliers import Multipliers
from labkit.provenance import compiled


def report(lut=0, ff=0, dsp=0, bram36=0):
    taken = {"lut": lut, "ff": ff, "dsp": dsp, "bram36": bram36}
    quantities = {name: compiled(value, name, "Yosys") for name, value in taken.items()}
    return Synthesis("m", multipliers=Multipliers((), (), ()), cells={}, **quantities)


@pytest.fixture
def drawn(monkeypatch):
    figures = []
    monkeypatch.setattr(budget, "show", lambda figure, alt: figures.append((figure, alt)))
    return figures


def test_the_xc7z020_has_what_its_data_sheet_says():
    has = {name: float(budget.available(name)) for name in budget.RESOURCES}
    assert has == {"lut": 53_200, "ff": 106_400, "dsp": 220, "bram36": 140}
    assert "DS190" in budget.available("lut").source


def test_cells_cost_what_they_take():
    cells = {"LUT6": 3, "RAM32M": 2, "SRL16E": 1, "RAMB18E1": 3, "FDRE": 5, "CARRY4": 9}
    taken = {name: budget.taken(name, cells) for name in budget.RESOURCES}
    assert taken == {"lut": 3 + 8 + 1, "ff": 5, "dsp": 0, "bram36": 1.5}
    budget.refuse_unknown(cells)


def test_a_cell_that_nothing_counts_is_refused():
    with pytest.raises(RTLError, match="LDCE"):
        budget.refuse_unknown({"LUT2": 1, "LDCE": 1})


def test_bars_are_as_long_as_shares(drawn):
    report(lut=26_600, dsp=220, bram36=0.5).budget()
    ((figure, alt),) = drawn
    lengths = [bar.get_width() for bar in figure.axes[0].patches][1::2]
    assert lengths == pytest.approx([50, 0, 100, 50 / 140])
    assert (
        "LUTs, of 53,200: m 26,600 (50.0 %)" in alt and "block RAMs, of 140: m 0.5 (0.4 %)" in alt
    )


def test_what_does_not_fit_is_orange_and_cut(drawn):
    too_large = report(dsp=1000)
    assert not too_large.fits
    budget.bars({"small": report(dsp=1), "large": too_large})
    ((figure, alt),) = drawn
    longest = max(figure.axes[0].patches, key=lambda bar: bar.get_width())
    assert longest.get_width() == 150
    assert to_hex(longest.get_facecolor()) == ORANGE
    assert "large 1,000 (454.5 %)" in alt
