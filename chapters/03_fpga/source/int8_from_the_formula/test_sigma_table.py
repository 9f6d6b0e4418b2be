"""sigma as a table: its bound against every input there is, and what Yosys makes of its text."""

import re
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain.yosys import run_yosys
from labkit_lessons.fpga.int8_from_the_formula.sigma_table import SigmaTable, sigma

EVERY = np.arange(-(2**15), 2**15)
TABLES = [
    SigmaTable(),
    SigmaTable(top=127),
    SigmaTable(entries=1024, fraction_bits=11),
    SigmaTable(entries=4096, fraction_bits=8),  # an entry for each input
    SigmaTable(entries=16, fraction_bits=4),
    SigmaTable(entries=2, fraction_bits=0, top=1),
]


def by_the_book(x):
    """sigma with math.exp, one number at a time, without overflow."""
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))


@pytest.mark.parametrize("table", TABLES, ids=repr)
def test_every_input_is_within_the_bound(table):
    exact = np.array([by_the_book(q / 2**table.fraction_bits) for q in EVERY.tolist()])
    got = table(EVERY)
    assert got.dtype == np.uint8 and got.max() <= table.top
    assert np.abs(got / table.top - exact).max() <= table.error_bound


@pytest.mark.parametrize("table", TABLES[:4], ids=repr)
def test_the_bound_is_not_loose(table):
    """One that says 1 would hold as well: the worst input comes to within a fifth of this one."""
    exact = sigma(EVERY / 2**table.fraction_bits)
    assert np.abs(table(EVERY) / table.top - exact).max() >= 0.8 * table.error_bound


def test_the_default_table_is_within_a_byte_and_a_quarter_and_fills_a_ramb18():
    table = SigmaTable()
    assert table.error_bound < 0.0025 < 0.625 / 255 + 1e-4
    assert table.contents.size * 8 == 16 * 1024


@given(st.floats(-127.9, 127.9))
def test_a_real_number_rounded_to_an_input_is_within_its_bound(x):
    table = SigmaTable()
    q = np.array([round(x * 2**table.fraction_bits)])
    assert abs(table(q)[0] / table.top - by_the_book(x)) <= table.real_error_bound


def test_sigma_is_the_formula_and_does_not_overflow():
    x = np.linspace(-40, 40, 801)
    np.testing.assert_allclose(sigma(x), [by_the_book(one) for one in x], rtol=1e-9, atol=1e-16)
    assert sigma(1e6) == 1 and sigma(-1e6) == 0


def test_the_table_rises_and_mirrors():
    contents = SigmaTable().contents.astype(int)
    assert (np.diff(contents) >= 0).all() and (contents[0], contents[-1]) == (0, 255)
    assert np.abs(contents + contents[::-1] - 255).max() <= 1  # sigma(-x) = 1 - sigma(x)


REFUSED = {
    "no power of two": ({"entries": 1000}, "entries is 1000; it must be a power of two"),
    "more entries than inputs": ({"entries": 8192}, "entries is 8192; it must be an integer"),
    "one entry": ({"entries": 1}, "entries is 1"),
    "8 does not fit": ({"fraction_bits": 12}, "fraction_bits is 12"),
    "9 bits": ({"top": 256}, "top is 256"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_table_is_refused(case):
    options, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        SigmaTable(**options)


@pytest.mark.parametrize("q", [np.array([0.5]), np.array([2**15]), np.array([-(2**15) - 1])])
def test_inputs_are_integers_of_16_bits(q):
    with pytest.raises(ValueError, match="inputs are integers of 16 bits"):
        SigmaTable()(q)


# --- the same as SystemVerilog


@pytest.mark.parametrize("table", TABLES, ids=repr)
def test_the_text_holds_the_contents_and_reads_no_file(table):
    text = table.systemverilog()
    listed = [int(word) for word in re.findall(r"8'd(\d+)", text)]
    assert listed[::-1] == table.contents.tolist()
    assert not re.search(r"\$|\breal\b|import|\bcase\b", text)
    assert max(len(line) for line in text.splitlines()) <= 100


def yosys(text, *commands):
    """What the commands write into answers.txt; Yosys's own output ends where ABC begins."""
    sources = read_sources(text, "sigma_table")
    with sources.laid_out() as folder:
        run_yosys([f"read_verilog -sv {sources.names[0]}", *commands], folder, sources)
        return (folder / "answers.txt").read_text()


@pytest.mark.parametrize("table", [SigmaTable(64, 6), SigmaTable(16, 11, 127)], ids=repr)
def test_the_circuit_gives_what_the_table_gives(table):
    """Without its register the circuit is a function, which Yosys evaluates."""
    text = table.systemverilog().replace("always_ff @(posedge clk) p <=", "assign p =")
    edge = 8 * 2**table.fraction_bits
    q = np.array([-(2**15), -edge - 1, -edge, -edge + 1, -300, -1, 0, 1, 300, edge - 1, edge])
    q = np.append(np.clip(q, -(2**15), 2**15 - 1), 2**15 - 1)
    asked = [f"tee -a answers.txt eval -set q 16'd{one % 2**16} -show p" for one in q.tolist()]
    said = yosys(text, "prep -top sigma_table", "memory_map", "opt -full", *asked)
    answers = [int(bits, 2) for bits in re.findall(r"\\p = 8'([01]+)", said)]
    assert answers == table(q).tolist()


@pytest.mark.night(
    instead="tests/fpga/test_synthesize.py::test_memories_and_shift_registers_are_counted_by_their_cells"
)
def test_with_its_register_it_is_one_block_ram():
    synthesis = "synth_xilinx -family xc7 -top sigma_table"
    said = yosys(SigmaTable().systemverilog(), synthesis, "tee -o answers.txt stat")
    assert re.search(r"\b1\s+RAMB18E1", said)
    assert not re.search(r"RAMB36|RAM\d|FDRE", said)
