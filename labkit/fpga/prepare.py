"""Compiles the accelerator for the lessons, which run it and never compile it.

    python -m labkit.fpga.prepare

`make lab` and `make test` do so once; it takes about five seconds for each model. Those that are in
the cache already are not made again. Lesson the_network_as_a_pipeline.
"""

from labkit.fpga import pipeline_runs
from labkit.fpga.accelerator import Accelerator
from labkit.fpga.accelerator_words import Folding

FOLDINGS = (Folding(), Folding(conv2=2), Folding(conv2=2, fc1=16, resident=True))


def prepare() -> None:
    """Compiles the network's accelerator in each of `FOLDINGS`, and what a lesson watches.

    Raises RTLError where a tool is missing, with what to install.
    """
    for folding in FOLDINGS:
        with Accelerator(folding):
            pass
    pipeline_runs.prepare()


if __name__ == "__main__":
    prepare()
