"""For every pytest run here, also `pytest --nbval chapters`: who runs what, and in which order.

Three processes share the work unit by unit (`unit_of`): a file, a notebook, or all tests of one
exercise. The third begins with the notebooks, whose kernels wait much and take their memory with
them. What is marked `night` belongs to `make prove`; the solved twins of the notebooks do.
"""

import gc
import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

# Three processes of tests share two cores: threads of torch and OpenBLAS beside them would spend
# half of the time on waiting for each other. Set before anything loads them; kernels inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# JAX fixes how many devices a process has when it starts, whichever test comes first.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

ROOT = Path(__file__).resolve().parent
SECONDS = 600  # nbval's own 5 s between two outputs of a cell would fail on a busy machine
TWINS = "solutions"  # the folder of the solved notebooks
# Files with tests of all exercises, "test_x[gpu.relu-...]": each exercise is a unit of its own.
BY_EXERCISE = re.compile(r"(.*/test_(?:rtl_)?exercises\.py)::.*\[(\w+\.\w+)")


def pytest_configure() -> None:
    """Refuses to prove labkit of this checkout beside lessons of another, or none."""
    for source in sorted(ROOT.glob("chapters/*/source")):
        room = f"labkit_lessons.{source.parent.name.partition('_')[2]}"
        try:
            found = find_spec(room)
        except ModuleNotFoundError:
            found = None
        first = Path(found.submodule_search_locations[0]).resolve() if found else None
        if first != source:
            where = f"comes from {first}" if first else "is not installed"
            raise pytest.UsageError(f"{room} {where}; it should be {source}: run `make setup`.")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Looks for no garbage while tests are collected: of a million objects hardly one is."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def unit_of(nodeid: str) -> str:
    """What one process runs in one go: the tests of an exercise, else those of a file."""
    if exercise := BY_EXERCISE.match(nodeid):
        return "::".join(exercise.groups())
    return nodeid.split("::", 1)[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """xdist's scheduler of files, with our units."""
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # conftest.py of the tests has an order

    class UnitScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

        def _assign_work_unit(self, node: object) -> None:
            if node.gateway.id not in ("gw0", "gw1"):  # a third process: notebooks first
                notebooks = (unit for unit in self.workqueue if unit.endswith(".ipynb"))
                if first := next(notebooks, None):
                    self.workqueue.move_to_end(first, last=False)
            super()._assign_work_unit(node)

    return UnitScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The twins wait for the night; nbval waits for a cell's outputs as long as for the cell."""
    for item in items:
        if hasattr(item, "output_timeout"):
            item.output_timeout = SECONDS  # nbval has no option for this
            if item.path.parent.name == TWINS:
                item.add_marker(pytest.mark.night(instead="tests/notebooks"))
