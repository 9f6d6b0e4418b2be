"""Where training runs: on a TPU if this machine has one, else on virtual replicas of its CPU.

`preflight()` says in sentences what is wrong with a machine and what to click or to run, and
`strategy()` is TensorFlow's tf.distribute object, with a line that says which of the two it is.
A TPU is found by its PCI id: TensorFlow's own resolver succeeds without one.
Lesson training_on_a_tpu uses both.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NamedTuple

from labkit.errors import in_a_line
from labkit.hardware import this_machine
from labkit.shapes import fit_integer

if TYPE_CHECKING:
    from tensorflow.distribute import Strategy

# Read when TensorFlow is imported: no log on stderr. Not setdefault, for JAX sets it to 1.
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

VIRTUAL = 8  # virtual devices of the CPU, which the strategies of one process share
MOST = 64  # more virtual devices only cost memory


def strategy(replicas: int | None = None) -> Strategy:
    """That many cores of this machine's TPU; without a TPU, that many virtual replicas on the CPU.

    None, and more than the TPU has, mean all its cores; on a CPU None means 8.
    Prints one line, which says what it is. Variables made in `strategy.scope()` live on every
    replica; `strategy.run(step, ...)` runs a step on all of them. Several strategies of up to 8
    virtual replicas, or of as many as the first call asked for, can live in one process.
    Raises ValueError for a senseless number, ImportError without TensorFlow, and RuntimeError when
    TensorFlow has already started with fewer devices or a TPU does not start.
    """
    if replicas is not None:
        fit_integer("strategy", "replicas", replicas, 1, MOST)
    tf = _tensorflow()
    machine = this_machine()
    if machine.has_tpu:
        found = _tpu_strategy(replicas)
        kind = os.environ.get("TPU_ACCELERATOR_TYPE", "of unknown kind")
        cores = f"{machine.tpu_chips} chip(s), {found.num_replicas_in_sync} replica(s)"
        print(f"Runs on: TPU {kind}, {cores} (TPUStrategy).")
        return found
    replicas = replicas or VIRTUAL
    devices = _virtual_devices(tf, replicas)
    count = "1 virtual replica" if replicas == 1 else f"{replicas} virtual replicas"
    where = f"{count} on this CPU ({machine.name})"
    print(f"Runs on: {where}, NOT on a TPU: the same code, without the speed.")
    # Not collectives: they mistake two strategies of one process for each other.
    return tf.distribute.MirroredStrategy(devices, tf.distribute.ReductionToOneDevice())


def _tensorflow() -> Any:
    try:
        import tensorflow
    except ImportError as error:
        raise ImportError(diagnose(set(), this_machine().has_tpu, False).findings[1]) from error
    tensorflow.get_logger().setLevel("ERROR")  # it logs the devices of every strategy on stderr
    return tensorflow


def _virtual_devices(tf: Any, replicas: int) -> list[str]:
    """Names of the CPU's first virtual devices; makes them where TensorFlow has not started yet."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    virtual = [tf.config.LogicalDeviceConfiguration()] * max(VIRTUAL, replicas)
    try:
        tf.config.set_visible_devices([], "GPU")  # all replicas are of one kind
        tf.config.set_logical_device_configuration(cpu, virtual)
    except RuntimeError:
        pass  # it has started: its devices stay as they are
    names = [f"CPU:{i}" for i in range(len(tf.config.list_logical_devices("CPU")))]
    if len(names) < replicas:
        raise RuntimeError(
            f"strategy({replicas}): TensorFlow has already started, with {len(names)} device(s). "
            f"Restart the kernel, and call strategy({replicas}) before anything else of TensorFlow."
        )
    return names[:replicas]


def _tpu_strategy(replicas: int | None = None) -> Strategy:
    """The TPU, or that many of its cores: always the same object for the same number."""
    whole = _tpu().all_cores
    if replicas is None or replicas >= whole.num_replicas_in_sync:
        return whole
    return _some_cores(replicas)


@cache
def _some_cores(replicas: int) -> Strategy:
    """A replica on each of the TPU's first cores."""
    tf = _tensorflow()
    tpu = _tpu()
    cores = tf.tpu.experimental.DeviceAssignment.build(tpu.topology, num_replicas=replicas)
    return tf.distribute.TPUStrategy(tpu.resolver, experimental_device_assignment=cores)


class _StartedTPU(NamedTuple):
    resolver: Any
    topology: Any
    all_cores: Strategy


@cache
def _tpu() -> _StartedTPU:
    """The machine's TPU: started once, for another start would wipe its variables."""
    tf = _tensorflow()
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
        tf.config.experimental_connect_to_cluster(resolver)
        topology = tf.tpu.experimental.initialize_tpu_system(resolver)
        return _StartedTPU(resolver, topology, tf.distribute.TPUStrategy(resolver))
    except Exception as error:  # a busy or missing TPU fails in every way there is
        raise RuntimeError(
            f"The TPU does not start ({in_a_line(error)}). Another process may hold it: on Colab "
            "Runtime > Disconnect and delete runtime, then Run all. If it stays so, set before "
            "Python starts: PJRT_DEVICE=TPU, NEXT_PLUGGABLE_DEVICE_USE_C_API=true and "
            "TF_PLUGGABLE_DEVICE_LIBRARY_PATH=(what libtpu.get_library_path() returns)."
        ) from error


class Preflight(NamedTuple):
    """What `preflight` found: sentences with what to do, and whether `strategy()` will work."""

    findings: list[str]
    ready: bool


def preflight() -> Preflight:
    """Look for all that can go wrong before training; print a sentence each. Raises nothing."""
    names = ("tensorflow", "tensorflow-cpu", "tensorflow-tpu")
    installed = {name for name in names if _is_installed(name)}
    tpu = this_machine().has_tpu
    report = diagnose(installed, tpu, colab="google.colab" in sys.modules)
    if tpu and report.ready:
        try:
            _tpu_strategy()
        except Exception as error:  # whatever it is, it is the finding
            report = Preflight([*report.findings, str(error)], ready=False)
    print(*report.findings, sep="\n")
    return report


def diagnose(installed: set[str], tpu: bool, colab: bool) -> Preflight:
    """What follows from the TensorFlow packages installed, from a TPU and from being on Colab."""
    right = {"tensorflow-tpu"} if tpu else {"tensorflow", "tensorflow-cpu"}
    ready = bool(installed) and installed <= right
    findings = [_about_the_tpu(tpu, colab), _about_tensorflow(installed, right, tpu)]
    return Preflight(findings, ready)


def _about_the_tpu(tpu: bool, colab: bool) -> str:
    if tpu:
        return "There is a TPU (found by its PCI id)."
    if colab:
        click = "Runtime > Change runtime type > v5e-1 TPU > Save, then Run all"
        return f"This Colab runtime has no TPU, only virtual replicas. To get one: {click}."
    return "There is no TPU here: training runs on virtual replicas of the CPU."


def _about_tensorflow(installed: set[str], right: set[str], tpu: bool) -> str:
    needed = "tensorflow-tpu" if tpu else "tensorflow"
    install = f"%pip install -q {needed}"
    if tpu:
        install += "==2.20.0"
    if not installed and tpu:
        return (
            "TensorFlow is not installed (Colab's TPU image carries none). "
            f"Run {install}, then this cell again; "
            "or train without it: !KERAS_BACKEND=jax python -m labkit.tpu.train."
        )
    if not installed:
        return f"TensorFlow is not installed. Run {install}, then this cell again."
    names = sorted(installed)
    if installed <= right:
        return f"{' and '.join(names)} is installed."
    repair = f"%pip uninstall -q -y {' '.join(names)}, then {install}"
    return (
        f"Installed: {' and '.join(names)}. This machine needs {needed}, and nothing beside it. "
        f"Run {repair}, and restart the kernel."
    )


def _is_installed(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False
