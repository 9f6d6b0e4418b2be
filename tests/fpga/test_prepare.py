"""What set-up compiles for the lessons."""

from labkit.fpga import prepare
from labkit.fpga.convnet.accelerator import Accelerator
from labkit.fpga.toolchain import models


def test_what_is_prepared_is_not_compiled_again(monkeypatch):
    prepare.prepare()

    def refused(*arguments):
        raise AssertionError("compiled again")

    for tool in models.ENGINES.values():
        monkeypatch.setattr(tool, "build", refused)
    prepare.prepare()
    for folding in prepare.FOLDINGS:
        with Accelerator(folding) as accelerator:
            assert accelerator.read("FOLDING") == folding.register
