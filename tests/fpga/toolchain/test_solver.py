"""labkit.fpga.toolchain.solver: the solver's trace, read back."""

from labkit.fpga.toolchain import solver

VCD = """$var integer 32 t smt_step $end
$var event 1 ! smt_clock $end
$scope module proof $end
$var wire 1 n0 clk $end
$var wire 8 n1 data $end
$scope module inner $end
$var wire 4 n2 full $end
$upscope $end
$upscope $end
$enddefinitions $end
#0
1!
b00 t
b1 n0
b00000111 n1
b0x01 n2
#5
b0 n0
#10
1!
b01 t
b1 n0
b11111111 n1
b0010 n2
#15
b0 n0
#20
1!
b10 t
b1 n0
"""


def test_each_step_of_the_trace_is_a_cycle():
    assert solver.read_vcd(VCD) == {"clk": [1, 1], "data": [7, 255], "inner.full": [1, 2]}
