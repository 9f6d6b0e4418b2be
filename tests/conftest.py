"""What holds for every test: nothing of the learner's is touched, and no clock decides.

Neither the learner's progress nor the network is touched, however pytest was started.
A test is as right on a slow or busy machine as on an idle one: Hypothesis sets no deadline, and
`lines_run` counts work where a stopwatch would measure it.
"""

import ast
import gc
import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from types import FrameType, ModuleType

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).resolve().parent
# Set before anything imports labkit; kernels and other processes that tests start inherit it.
_home = tempfile.TemporaryDirectory(prefix="labkit-tests-")
os.environ.update(LABKIT_HOME=_home.name, LABKIT_OFFLINE="1", LABKIT_PROGRESS="off")

settings.register_profile(
    "any machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,  # the same examples on every machine
)
settings.load_profile("any machine")


# Files that take some seconds and more, the slowest first: in this order two processes end at about
# the same time. They run after all others, so that whoever broke something hears of it early;
# `make test ARGS=quick` leaves them out.
SLOW = (
    "exercises/test_rtl_exercises.py",
    "exercises/test_exercises.py",
    "fpga/test_accelerator.py",
    "fpga/test_accelerator_cycles_grid.py",
    "fpga/test_accelerator_report_again.py",
    "notebooks/test_training_on_a_tpu.py",
    "fpga/test_rtl_exercise.py",
    "notebooks/test_a_multiply_accumulate_array.py",
    "notebooks/test_folding_under_a_budget.py",
    "gpu/test_training.py",
    "tpu/test_training.py",
    "distributed/checkpoints/test_dcp.py",
    "distributed/checkpoints/test_run.py",
    "tpu/test_compiler.py",
    "fpga/board/test_five_hundred_photographs.py",
    "distributed/sharded/test_zero.py",
    "distributed/tensor_parallel/test_tensor_parallel.py",
    "fpga/test_engines.py",
    "distributed/test_tf_cluster.py",
    "distributed/parameter_server/test_cluster.py",
    "distributed/parameter_server/test_faults.py",
    "distributed/parameter_server/test_train_ps.py",
    "notebooks/test_restarts_and_monitoring.py",
    "notebooks/test_tensor_parallel.py",
    "notebooks/test_training.py",
    "distributed/pipeline/test_runner.py",
    "fpga/test_models.py",
    "fpga/test_cocotb_run.py",
    "distributed/test_rank_exercise.py",
    "gpu/test_convolution_kernels.py",
    "gpu/simt/test_functions_by_dtype.py",
    "fpga/test_simulate.py",
    "notebooks/test_hybrid_and_sharded.py",
    "distributed/test_launch.py",
    "notebooks/test_fine_tuning_and_compilers.py",
    "distributed/test_switched_hosts.py",
    "distributed/test_link_trials.py",
    "course/test_verify.py",
    "fpga/test_rtl_conv.py",
    "fpga/test_rtl_pipeline.py",
    "distributed/gpt/test_compiled.py",
    "distributed/sharded/test_two_dimensions.py",
    "gpu/simt/test_sanitizer.py",
    "distributed/test_elastic.py",
    "fpga/board/test_convnet_overlay.py",
    "distributed/tensor_parallel/test_training.py",
    "gpu/test_bench_gpu.py",
    "fpga/test_synthesize.py",
    "notebooks/test_pipeline.py",
    "fpga/test_prove.py",
    "gpu/test_layer_kernels.py",
    "course/test_new.py",
    "notebooks/test_stepper_browser.py",
    "notebooks/test_browser.py",
    "gpu/test_matmul_kernels.py",
    "notebooks/test_serving.py",
    "notebooks/test_unlike_machines.py",
    "notebooks/test_what_limits_a_kernel.py",
    "notebooks/test_convolution_kernels.py",
    "gpu/test_against_simulator.py",
    "gpu/test_hazards.py",
    "fpga/test_board_exercise.py",
    "notebooks/test_what_the_compiler_makes_of_a_layer.py",
    "notebooks/test_timing_and_proof.py",
    "notebooks/test_a_convolution_as_a_stream.py",
    "fpga/test_rtl_mac.py",
    "fpga/test_rtl_filter.py",
    "gpu/test_pictures.py",
    "gpu/test_numba_ledger.py",
    "fpga/test_rtl_streams.py",
    "distributed/test_live_bytes.py",
    "fpga/test_hls_again.py",
    "notebooks/test_bfloat16.py",
    "notebooks/test_tiles.py",
    "course/test_build.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what is slow, and puts it last, the lessons' notebooks behind it."""
    places = {str(TESTS / name): place for place, name in enumerate(SLOW, start=1)}

    def place(item: pytest.Item) -> int:
        return places.get(str(item.path), 0 if item.path.suffix == ".py" else len(SLOW) + 1)

    for item in items:
        if str(item.path) in places:
            item.add_marker("slow")
        for mark in item.iter_markers("night"):
            if not _is_by_day(mark.kwargs.get("instead", "")):
                raise pytest.UsageError(
                    f"{item.nodeid} is marked for the night: `instead` has to name a test that "
                    'covers the same by day, as "tests/test_x.py::test_y".'
                )
    items.sort(key=place)


@cache
def _is_by_day(test: str) -> bool:
    """Whether there is such a folder or file, or such a function that is not for the night."""
    path, _, name = test.partition("::")
    file = TESTS.parent / path
    if not path or not name:
        return bool(path) and file.exists()
    functions = ast.parse(file.read_text("utf-8")).body if file.is_file() else []
    return any(
        isinstance(one, ast.FunctionDef)
        and one.name == name
        and not any("mark.night" in ast.unparse(mark) for mark in one.decorator_list)
        for one in functions
    )


@pytest.fixture(scope="module", autouse=True)
def _compiled_programs_go(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a slow file of tests had compiled is of no use to the next, and takes gigabytes."""
    yield
    if request.path.relative_to(TESTS).as_posix() not in SLOW:
        return
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    if "torch._dynamo" in sys.modules:
        sys.modules["torch._dynamo"].reset()
    gc.collect()


def _lines_run(call: Callable[[], object], *modules: ModuleType) -> int:
    """How many lines of the modules' own functions run during `call()`: the same everywhere."""
    files = {module.__file__ for module in modules}
    count = 0

    def at_line(frame: FrameType, event: str, argument: object) -> Callable:
        nonlocal count
        if event == "line":
            count += 1
        return at_line

    def at_call(frame: FrameType, event: str, argument: object) -> Callable | None:
        return at_line if frame.f_code.co_filename in files else None

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


class Room:
    """A room with ids "toy.", in place of the course's: a package of exercises in a folder."""

    names = count()

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.package = f"room_{next(self.names)}"
        self.folder = folder / self.package
        self.folder.mkdir()
        self.lessons = []
        self.monkeypatch = monkeypatch
        monkeypatch.syspath_prepend(folder)
        self.prefix("toy")

    def prefix(self, name: str) -> None:
        """What the room's ids begin with."""
        self.monkeypatch.setattr("labkit.ROOMS", {name: self.package})

    def lesson(self, name: str, texts: str = "", code: str = "EXERCISES = []") -> str:
        """Adds a lesson; returns the name of its module."""
        self.lessons.append(name)
        (self.folder / "__init__.py").write_text(f"LESSONS = {self.lessons!r}\n")
        (self.folder / f"{name}.toml").write_text(texts)
        (self.folder / f"{name}.py").write_text(code)
        importlib.invalidate_caches()
        if self.package in sys.modules:
            sys.modules[self.package].LESSONS = self.lessons
        return f"{self.package}.{name}"


@pytest.fixture
def room(tmp_path, monkeypatch) -> Room:
    """`room.lesson(name, texts, code)` writes lessons of a room that the tests own."""
    return Room(tmp_path, monkeypatch)


@pytest.fixture
def lines_run() -> Callable[..., int]:
    """`lines_run(call, *modules)` counts the lines of these modules that a call runs."""
    return _lines_run
