"""For every pytest run here, also `pytest --nbval chapters`: patience with a busy machine.

Two processes of tests share two cores: threads of torch and OpenBLAS beside them would spend half
of the processor's time on waiting for each other.
"""

import os

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before anything loads them; kernels inherit it

SECONDS = 600  # nbval's own 5 s between two outputs of a cell would fail on a busy machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let nbval wait for a cell's outputs as long as for the cell; it has no option for this."""
    for item in items:
        if hasattr(item, "output_timeout"):
            item.output_timeout = SECONDS
