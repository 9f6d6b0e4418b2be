"""Where training runs: on a TPU if this machine has one, else on virtual replicas of its CPU.

`preflight()` says in sentences what is wrong with a machine and what to click or to run, and
`strategy()` is TensorFlow's tf.distribute object, with a line that says which of the two it is.
A TPU is found by its PCI id: TensorFlow's own resolver succeeds without one. Lesson 4 of the TPU
chapter uses both.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NamedTuple

from labkit.cifar10_files import in_a_line
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
    tf, machine = _tensorflow(), this_machine()
    if machine.has_tpu:
        found = _tpu_strategy(replicas)
        kind = os.environ.get("TPU_ACCELERATOR_TYPE", "of unknown kind")
        cores = f"{machine.tpu_chips} chip(s), {found.num_replicas_in_sync} replica(s)"
        print(f"Runs on: TPU {kind}, {cores} (TPUStrategy).")
        return found
    replicas = replicas or VIRTUAL
    devices = _virtual_devices(tf, replicas)
    count = f"{replicas} virtual replica{'s' * (replicas > 1)} on this CPU ({machine.name})"
    print(f"Runs on: {count}, NOT on a TPU: the same code, without the speed.")
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
    cpu, device = tf.config.list_physical_devices("CPU")[0], tf.config.LogicalDeviceConfiguration()
    try:
        tf.config.set_visible_devices([], "GPU")  # all replicas are of one kind
        tf.config.set_logical_device_configuration(cpu, [device] * max(VIRTUAL, replicas))
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
    _, _, whole = _tpu()
    if replicas is None or replicas >= whole.num_replicas_in_sync:
        return whole
    return _some_cores(replicas)


@cache
def _some_cores(replicas: int) -> Strategy:
    """A replica on each of the TPU's first cores."""
    tf, (resolver, topology, _) = _tensorflow(), _tpu()
    cores = tf.tpu.experimental.DeviceAssignment.build(topology, num_replicas=replicas)
    return tf.distribute.TPUStrategy(resolver, experimental_device_assignment=cores)


@cache
def _tpu() -> tuple[Any, Any, Strategy]:
    """Resolver, topology, all cores: started once, for another start would wipe its variables."""
    tf = _tensorflow()
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
        tf.config.experimental_connect_to_cluster(resolver)
        topology = tf.tpu.experimental.initialize_tpu_system(resolver)
        return resolver, topology, tf.distribute.TPUStrategy(resolver)
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
    tpu, colab = this_machine().has_tpu, "google.colab" in sys.modules
    report = diagnose({name for name in names if _is_installed(name)}, tpu, colab)
    if tpu and report.ready:
        try:
            _tpu_strategy()
        except Exception as error:  # whatever it is, it is the finding
            report = Preflight([*report.findings, str(error)], ready=False)
    print(*report.findings, sep="\n")
    return report


def diagnose(installed: set[str], tpu: bool, colab: bool) -> Preflight:
    """What follows from the TensorFlow packages installed, from a TPU and from being on Colab."""
    here = "There is no TPU here: training runs on virtual replicas of the CPU."
    if tpu:
        here = "There is a TPU (found by its PCI id)."
    elif colab:
        click = "Runtime > Change runtime type > v5e-1 TPU > Save, then Run all"
        here = f"This Colab runtime has no TPU, only virtual replicas. To get one: {click}."
    install = "%pip install -q " + ("tensorflow-tpu==2.20.0" if tpu else "tensorflow")
    right = {"tensorflow-tpu"} if tpu else {"tensorflow", "tensorflow-cpu"}
    names = " and ".join(sorted(installed))
    if not installed:
        image = " (Colab's TPU image carries none)" if tpu else ""
        there = f"TensorFlow is not installed{image}. Run {install}, then this cell again"
        there += "; or train without it: !KERAS_BACKEND=jax python -m labkit.tpu.train" * tpu
    elif installed <= right:
        there = f"{names} is installed"
    else:
        repair = f"%pip uninstall -q -y {names.replace(' and', '')}, then {install}"
        there = f"Installed: {names}. This machine needs {min(right)}, and nothing beside it. "
        there += f"Run {repair}, and restart the kernel"
    return Preflight([here, f"{there}."], ready=bool(installed) and installed <= right)


def _is_installed(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False
