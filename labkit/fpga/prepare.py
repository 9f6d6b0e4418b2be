"""Compiles what the lessons run and never compile: the accelerator, and what all modules share.

    python -m labkit.fpga.prepare

`make lab` and `make test` do so once; it takes about five seconds for each model. Those that are in
the cache already are not made again. Lesson the_network_as_a_pipeline.
"""

from labkit.fpga.convnet import pipeline_runs
from labkit.fpga.convnet.accelerator import Accelerator
from labkit.fpga.convnet.accelerator_parameters import Folding
from labkit.fpga.running import runs
from labkit.fpga.toolchain import cxxrtl

FOLDINGS = (Folding(), Folding(conv2=2), Folding(conv2=2, fc1=16, resident=True))


def prepare() -> None:
    """Compiles the network's accelerator in each of `FOLDINGS`, and what a lesson watches.

    And what every module of a learner's is linked with, so that the first one is quick, too. Raises
    RTLError where a tool is missing, with what to install.
    """
    cxxrtl.prepare()
    runs.prepare()
    for folding in FOLDINGS:
        with Accelerator(folding):
            pass
    pipeline_runs.prepare()


if __name__ == "__main__":
    prepare()
