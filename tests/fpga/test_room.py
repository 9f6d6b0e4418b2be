"""labkit.fpga: a function keeps its name, whoever has imported its module before."""

import subprocess
import sys

import pytest

import labkit.fpga

BEFORE = {
    "nothing": "",
    "the module": "import labkit.fpga.quantize",
    "something of it": "from labkit.fpga.quantize import QuantizedConvNet",
    "by name": "from importlib import import_module; import_module('labkit.fpga.quantize')",
}


@pytest.mark.parametrize("before", BEFORE)
def test_quantize_is_the_function(before):
    code = f"{BEFORE[before]}\nfrom labkit.fpga import quantize\nassert quantize.__module__"
    code += "\nimport labkit.fpga\nassert callable(quantize) and labkit.fpga.quantize is quantize"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_room_has_its_public_functions():
    for name in labkit.fpga.__all__:
        assert callable(getattr(labkit.fpga, name))


def test_the_room_loads_no_tool():
    code = "import sys, labkit.fpga, labkit.fpga.quantize\n"
    code += "import labkit_lessons.fpga.int8_from_the_formula.sigma_table\n"
    code += "slow = {'torch', 'matplotlib', 'hls4ml', 'z3', 'cocotb'} & set(sys.modules)\n"
    code += "assert not slow, slow"
    subprocess.run([sys.executable, "-c", code], check=True)
