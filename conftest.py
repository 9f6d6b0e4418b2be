"""For every pytest run here, also `pytest --nbval chapters`: patience with a busy machine."""

import pytest

SECONDS = 600  # nbval's own 5 s between two outputs of a cell would fail on a busy machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let nbval wait for a cell's outputs as long as for the cell; it has no option for this."""
    for item in items:
        if hasattr(item, "output_timeout"):
            item.output_timeout = SECONDS
