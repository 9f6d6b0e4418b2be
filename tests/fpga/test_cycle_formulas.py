"""The formulas for cycles: the network's numbers, and what a knob does.

That they equal the counted cycles is tested beside each module: test_rtl_*.py.
"""

from labkit.fpga import cycle_formulas as formulas
from tests.fpga.circuits.cycles import conv_cycles, conv_load_cycles, linear_cycles


def test_the_networks_layers():
    assert conv_load_cycles(3, 32, 3) == 288
    assert formulas.conv_image_cycles(3, 32, 32, 32, 3, 1) == 32 * 1024 + 65
    assert formulas.conv_image_cycles(32, 64, 16, 16, 8, 2) == 128 * 256 + 33
    assert linear_cycles(4096, 128, 1, 8) == 65_536 + 3


def test_the_network_fits_the_budget_of_a_zynq_7020():
    """conv1, conv2 and fc1 beside each other: 220 DSPs, and each below 100,000 cycles."""
    conv1 = formulas.conv_multipliers(3, 1)
    conv2 = formulas.conv_multipliers(8, 2)
    assert conv1 + conv2 + formulas.array_multipliers(8, 1) == 179
    assert conv_cycles(3, 32, 32, 32, 3, 1) < 100_000
    assert conv_cycles(32, 64, 16, 16, 8, 2) < 100_000


def test_twice_the_lanes_halve_the_fold():
    for lanes in (1, 2, 4, 8):
        assert formulas.conv_fold(32, 64, 8, lanes) * lanes == 256


def test_levels_of_a_tree():
    assert [formulas.tree_levels(n) for n in (1, 2, 3, 4, 5, 8, 9, 27, 72)] == [
        0, 1, 2, 2, 3, 3, 4, 5, 7
    ]  # fmt: skip


def test_latency_is_paid_once():
    one = conv_cycles(3, 32, 32, 32, 3, 1)
    ten = conv_cycles(3, 32, 32, 32, 3, 1, images=10)
    assert ten - one == 9 * formulas.conv_image_cycles(3, 32, 32, 32, 3, 1)
