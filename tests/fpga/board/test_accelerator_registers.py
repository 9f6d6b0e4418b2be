"""The accelerator's registers by name, without a board: what STATUS says, in sentences."""

import pytest

from labkit.fpga.board.accelerator_registers import FAULTS, AcceleratorRegisters
from labkit.fpga.board.errors import BoardError
from labkit.fpga.convnet.accelerator import REGISTERS, STATUS
from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes


class Kept(AcceleratorRegisters):
    """Registers that keep what was written."""

    def __init__(self, **values: int) -> None:
        self.values = {offset: 0 for offset in REGISTERS.values()}
        self.values |= {REGISTERS[name]: value for name, value in values.items()}

    def read(self, offset: int) -> int:
        return self.values[offset]

    def write(self, offset: int, value: int) -> None:
        self.values[offset] = value


def test_every_bit_has_its_sentence():
    assert set(FAULTS) | {"BUSY", "DONE"} == set(STATUS)
    for name, sentence in FAULTS.items():
        bits = 1 << STATUS.index(name) | 1 << STATUS.index("DONE")
        with pytest.raises(BoardError, match=sentence):
            Kept(STATUS=bits).refuse_faults()


def test_a_job_that_is_over_or_not():
    Kept(STATUS=1 << STATUS.index("DONE")).refuse_faults()
    with pytest.raises(BoardError, match="has not ended the job"):
        Kept(STATUS=1).refuse_faults()


def test_start_and_reset():
    registers = Kept()
    registers.start(7)
    assert registers.values[REGISTERS["IMAGES"]] == 7
    assert registers.values[REGISTERS["CONTROL"]] == 1
    registers.reset()
    assert registers.values[REGISTERS["CONTROL"]] == 2
    with pytest.raises(BoardError, match="is busy with a job"):
        Kept(STATUS=1).start(1)


def test_what_it_was_built_with():
    folding, shapes = Folding(4, 8, 32, True), Shapes(16, 24, 40, 72)
    registers = Kept(FOLDING=folding.register, SHAPES=shapes.register, CYCLES=12)
    assert registers.folding == folding
    assert registers.shapes == shapes
    assert int(registers.cycles) == 12 and registers.cycles.word == "counted"
