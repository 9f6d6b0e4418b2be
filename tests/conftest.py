"""What holds for every test: nothing of the learner's is touched, and no clock decides.

The tests in the folders of the lessons are among them (chapters/conftest.py).

Neither the learner's progress nor the network is touched, however pytest was started.
A test is as right on a slow or busy machine as on an idle one: Hypothesis sets no deadline, and
`lines_run` counts work where a stopwatch would measure it.
"""

import ast
import ctypes
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
from hypothesis.internal.conjecture import providers

from tests.night import LONG_LESSONS

TESTS = Path(__file__).resolve().parent
SIMT = TESTS.parent / "simt" / "tests"
# Set before anything imports labkit; kernels and other processes that tests start inherit it.
_home = tempfile.TemporaryDirectory(prefix="labkit-tests-")
os.environ.update(LABKIT_HOME=_home.name, LABKIT_OFFLINE="1", LABKIT_PROGRESS="off")

MARKED = pytest.StashKey[bool]()

settings.register_profile(
    "any machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,  # the same examples on every machine
)
settings.load_profile("any machine")
# Hypothesis would read every module of ours that is loaded, and try the constants in it: seconds of
# each process, and other examples as soon as other files of tests run beside.
providers._get_local_constants = lambda: providers._local_constants


# Files, and folders of them, that take some seconds and more, the slowest first: in this order two
# processes end at about the same time. They run after all others, so that whoever broke something
# hears of it early; `make test ARGS=quick` leaves them out. The test of a lesson's numbers stands
# here as one of notebooks/.
SLOW = (
    "notebooks/test_training_on_a_tpu.py",
    "notebooks/test_training_in_jax.py",
    "exercises/",
    "fpga/convnet/test_accelerator.py",
    "fpga/convnet/test_accelerator_cycles_grid.py",
    "fpga/convnet/test_accelerator_report_again.py",
    "fpga/judging/test_rtl_exercise.py",
    "notebooks/test_folding_under_a_budget.py",
    "notebooks/test_a_multiply_accumulate_array.py",
    "notebooks/test_the_network_on_the_board.py",
    "notebooks/test_video_in_video_out.py",
    "tpu/test_training.py",
    "fpga/convnet/test_own_modules.py",
    "fpga/toolchain/test_engines.py",
    "distributed/tensorflow/test_cluster.py",
    "distributed/checkpoints/",
    "tpu/test_compiler.py",
    "timing_and_proof/test_cocotb_run.py",
    "fpga/toolchain/test_models.py",
    "gpu/training/test_training.py",
    "gpu/layers/test_convolution_kernels.py",
    "simt/beside_numba/test_functions_by_dtype.py",
    "distributed/parameter_server/",
    "distributed/judging/test_rank_exercise.py",
    "distributed/test_launch.py",
    "fpga/board/",
    "notebooks/",
    "hybrid_and_sharded/",
    "distributed/pipeline/",
    "distributed/tensor_parallel/",
    "tensor_parallel/test_training.py",
    "distributed/gpt/",
    "a_tokens_cost/",
    "fine_tuning_and_compilers/",
    "serving/",
    "distributed/gradients/test_asynchronous.py",
    "processes_and_collectives/test_before_and_after.py",
    "distributed/links/test_hosts.py",
    "distributed/links/test_switched_hosts.py",
    "distributed/links/test_link_trials.py",
    "restarts_and_monitoring/test_elastic.py",
    "distributed/costs/test_language_models.py",
    "distributed/test_ddp.py",
    "unlike_machines/test_training.py",
    "distributed/test_monitoring.py",
    "distributed/launching/test_live_bytes.py",
    "distributed/connections/test_wires.py",
    "distributed/test_collectives.py",
    "distributed/gradients/test_compression.py",
    "distributed/launching/test_schedulers.py",
    "distributed/test_sockets.py",
    "distributed/test_launch_as_pytorch_users.py",
    "distributed/test_train_ddp.py",
    "overlap_and_buckets/test_batch_norm.py",
    "overlap_and_buckets/test_batch_norm_networks.py",
    "distributed/test_small_training.py",
    "distributed/test_large_batches.py",
    "distributed/connections/test_relay.py",
    "distributed/launching/test_rank_network.py",
    "distributed/chooser/test_command.py",
    "course/source/test_relations.py",
    "course/test_verify.py",
    "course/test_new.py",
    "course/test_build.py",
    "course/grading/",
    "simt/command/test_pytest_plugin.py",
    "simt/command/test_processes.py",
    "simt/command/test_main.py",
    "simt/beside_numba/test_constructs.py",
    "simt/machine/test_random.py",
    "a_training_step_on_the_gpu/test_inductor.py",
    "course/test_doctor.py",
    "gpu/training/test_pytorch.py",
    "the_systolic_array/test_stepper_browser.py",
    "a_convolution_as_a_stream/test_stream_pictures.py",
    "fpga/test_waveforms.py",
    "fpga/test_room.py",
    "fpga/running/test_runs.py",
    "distributed/tensorflow/test_agent.py",
    "fpga/test_simulate.py",
    "fpga/test_timing.py",
    "a_convolution_as_a_stream/test_layer_runs.py",
    "fpga/circuits/test_rtl_conv.py",
    "fpga/circuits/test_rtl_pipeline.py",
    "fpga/circuits/test_rtl_mac.py",
    "fpga/circuits/test_rtl_filter.py",
    "fpga/circuits/test_rtl_streams.py",
    "fpga/circuits/test_rtl_requantize.py",
    "fpga/circuits/test_rtl_sources.py",
    "fpga/test_synthesize.py",
    "fpga/test_prove.py",
    "fpga/test_quantize.py",
    "int8_from_the_formula/test_sigma_table.py",
    "fpga/judging/test_given_modules.py",
    "fpga/circuits/test_sign_extension.py",
    "fpga/convnet/test_accelerator_jobs.py",
    "fpga/judging/test_board_exercise.py",
    "fpga/convnet/test_accelerator_cycles.py",
    "fpga/running/test_vcd.py",
    "fpga/toolchain/test_cpp.py",
    "fpga/toolchain/test_cxxrtl.py",
    "fpga/toolchain/test_elaborate.py",
    "fpga/convnet/test_hls_again.py",
    "fpga/toolchain/test_tools.py",
    "fpga/circuits/test_axi_lite_slave.py",
    "fpga/toolchain/test_lint.py",
    "simt/beside_numba/test_compositions.py",
    "simt/machine/test_sanitizer.py",
    "gpu/report/",
    "gpu/layers/test_layer_kernels.py",
    "gpu/layers/test_matmul_kernels.py",
    "simt/beside_numba/test_against_simulator.py",
    "simt/profiling/test_hazards.py",
    "gpu/test_pictures.py",
    "simt/beside_numba/test_numba_ledger.py",
    "gpu/test_compiler.py",
    "gpu/training/test_autograd.py",
    "gpu/test_ladder.py",
    "gpu/layers/test_tensor_core.py",
    "simt/beside_numba/test_types.py",
    "training/test_inductor.py",
    "gpu/test_tile_pictures.py",
    "tpu/matrix_unit/test_systolic.py",
    "tpu/test_snapshot.py",
    "tpu/matrix_unit/test_pictures.py",
    "tpu/test_models.py",
    "checks/test_time.py",
    "test_torch_cache.py",
    "project/test_listeners.py",
    "project/test_prove.py",
    "project/test_wheel.py",
    "test_datasets.py",
    "project/test_train_convnet.py",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks what is slow, and puts it last, the lessons' notebooks behind it."""
    if config.stash.setdefault(MARKED, False):  # chapters/conftest.py has this hook as well
        return
    config.stash[MARKED] = True
    for item in items:
        if 0 < place_of(item.path) <= len(SLOW):
            item.add_marker("slow")
        if lesson := LONG_LESSONS.get(lesson_proved_by(item.path)):
            item.add_marker(pytest.mark.night(instead=f"chapters/{lesson}.ipynb"))
        for mark in item.iter_markers("night"):
            if not _is_by_day(mark.kwargs.get("instead", "")):
                raise pytest.UsageError(
                    f"{item.nodeid} is marked for the night: `instead` has to name a test that "
                    'covers the same by day, as "tests/test_x.py::test_y".'
                )
    items.sort(key=lambda item: place_of(item.path))


def pytest_collection_finish() -> None:
    """A million objects of ten thousand tests: frozen, no collection looks at them again."""
    gc.freeze()


@cache
def place_of(path: Path) -> int:
    """When a file's turn comes: 0 for the quick ones, behind all others for a notebook."""
    if path.suffix != ".py":
        return len(SLOW) + 1
    name = name_of(path)
    places = (place for place, slow in enumerate(SLOW, start=1) if name.startswith(slow))
    return next(places, 0)


def lesson_proved_by(path: Path) -> str:
    """The lesson whose numbers a file of tests is about: "tiles"; "" for any other file."""
    name = path.stem.removeprefix("test_")
    return name if is_in_lesson(path) and path.parent.name == name else ""


def is_in_lesson(path: Path) -> bool:
    """Whether a file lies in the folder of a lesson."""
    return path.parents[1].name == "source"


def name_of(path: Path) -> str:
    """A file of tests as SLOW has it: from tests/ on, with its lesson's folder alone, or simt/."""
    if lesson_proved_by(path):
        return f"notebooks/{path.name}"
    if is_in_lesson(path):
        return f"{path.parent.name}/{path.name}"
    if path.is_relative_to(SIMT):
        return f"simt/{path.relative_to(SIMT).as_posix()}"
    return path.relative_to(TESTS).as_posix()


@cache
def _is_by_day(test: str) -> bool:
    """Whether there is such a folder or file, or such a function that is not for the night."""
    path, _, name = test.partition("::")
    file = TESTS.parent / path
    if lesson_proved_by(file) in LONG_LESSONS:
        return False
    if not path or not name:
        return bool(path) and file.exists()
    return name in _functions_by_day(file)


@cache
def _functions_by_day(file: Path) -> set[str]:
    """The functions of a file of tests that are not marked for the night as a whole."""
    body = ast.parse(file.read_text("utf-8")).body if file.is_file() else []
    functions = [one for one in body if isinstance(one, ast.FunctionDef)]
    return {
        one.name
        for one in functions
        if not any("mark.night" in ast.unparse(mark) for mark in one.decorator_list)
    }


@pytest.fixture(scope="module", autouse=True)
def _compiled_programs_go(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a slow file of tests had compiled is of no use to the next, and takes gigabytes.

    What is left then stays to the end: frozen, it costs no later collection any time.
    """
    yield
    if not place_of(request.path):
        return
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    if "torch._dynamo" in sys.modules:
        sys.modules["torch._dynamo"].reset()
    if "keras" in sys.modules:
        sys.modules["keras"].backend.clear_session(free_memory=False)
    gc.collect()
    gc.freeze()
    if sys.platform == "linux":  # what was freed goes back to the system, for the other process
        ctypes.CDLL(None).malloc_trim(0)


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
    """A room with ids "toy.", in place of the course's: a package with the folders of lessons."""

    names = count()

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.package = f"room_{next(self.names)}"
        self.folder = folder / self.package
        self.folder.mkdir()
        self.index = {}
        self.monkeypatch = monkeypatch
        monkeypatch.syspath_prepend(folder)
        self.prefix("toy")

    def prefix(self, name: str) -> None:
        """What the room's ids begin with."""
        self.index = {name: {}}
        self.monkeypatch.setattr("labkit.ROOMS", (name,))
        self.monkeypatch.setattr("labkit.checks.lesson_files.index", lambda: self.index)

    def lesson(self, name: str, texts: str = "", code: str = "EXERCISES = []") -> str:
        """Adds a lesson; returns the name of the module of its exercises."""
        lesson = self.folder / name
        lesson.mkdir()
        (lesson / "texts.toml").write_text(texts)
        (lesson / "exercises.py").write_text(code)
        importlib.invalidate_caches()
        [room] = self.index
        self.index[room][f"{self.package}.{name}"] = []
        return f"{self.package}.{name}.exercises"


@pytest.fixture
def room(tmp_path, monkeypatch) -> Room:
    """`room.lesson(name, texts, code)` writes lessons of a room that the tests own."""
    return Room(tmp_path, monkeypatch)


@pytest.fixture
def lines_run() -> Callable[..., int]:
    """`lines_run(call, *modules)` counts the lines of these modules that a call runs."""
    return _lines_run
