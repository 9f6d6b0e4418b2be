"""The strategy's line, the preflight's sentences, and a TensorFlow that started too soon."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from labkit.tpu import device


@pytest.mark.parametrize(
    ("installed", "tpu", "colab", "ready", "says"),
    [
        ({"tensorflow"}, False, False, True, "no TPU here"),
        ({"tensorflow-cpu"}, False, False, True, "tensorflow-cpu is installed."),
        ({"tensorflow"}, False, True, True, "Runtime > Change runtime type > v5e-1 TPU"),
        ({"tensorflow-tpu"}, True, True, True, "tensorflow-tpu is installed."),
        (set(), True, True, False, "%pip install -q tensorflow-tpu==2.20.0"),
        (set(), True, True, False, "KERAS_BACKEND=jax"),
        (set(), False, False, False, "%pip install -q tensorflow,"),
        ({"tensorflow"}, True, True, False, "This machine needs tensorflow-tpu,"),
        ({"tensorflow-tpu"}, False, False, False, "needs tensorflow, and nothing beside it."),
        ({"tensorflow", "tensorflow-tpu"}, True, True, False, "-y tensorflow tensorflow-tpu, then"),
        ({"tensorflow", "tensorflow-tpu"}, False, False, False, "then %pip install -q tensorflow,"),
    ],
)
def test_each_finding_is_a_sentence_with_what_to_do(installed, tpu, colab, ready, says):
    report = device.diagnose(installed, tpu, colab)
    assert report.ready is ready
    assert says in " ".join(report.findings)
    assert all(line.endswith(".") for line in report.findings)


def pretend(monkeypatch, chips):
    machine = SimpleNamespace(tpu_chips=chips, has_tpu=chips > 0, name="a CPU, 2 cores")
    monkeypatch.setattr(device, "this_machine", lambda: machine)


def test_a_tpu_that_does_not_start_is_a_finding_and_no_traceback(monkeypatch, capsys):
    def busy():
        raise RuntimeError("The TPU does not start (busy).")

    pretend(monkeypatch, chips=1)
    monkeypatch.setattr(device, "_is_installed", lambda name: name == "tensorflow-tpu")
    monkeypatch.setattr(device, "_tpu_strategy", busy)
    assert not device.preflight().ready
    assert "The TPU does not start (busy)." in capsys.readouterr().out


def test_the_resolver_is_not_believed(monkeypatch, capsys):
    pytest.importorskip("tensorflow")
    pretend(monkeypatch, chips=0)
    monkeypatch.setattr(device, "_tpu_strategy", lambda: pytest.fail("asked for a TPU"))
    assert device.strategy(3).num_replicas_in_sync == 3
    assert device.strategy(1).num_replicas_in_sync == 1  # beside the other
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("Runs on: 3 virtual replicas on this CPU (a CPU, 2 cores), NOT on a")
    assert len(said) == 2


@pytest.fixture
def eight_cores(monkeypatch):
    """TensorFlow on a TPU of four chips with two cores each; its real topology, no TPU."""
    tf = pytest.importorskip("tensorflow")
    from tensorflow.python.tpu.topology import Topology

    places = [[x, y, 0, core] for y in range(2) for x in range(2) for core in range(2)]
    topology = Topology(mesh_shape=[2, 2, 1, 2], device_coordinates=np.array([places]))
    started = []

    class Strategy:
        def __init__(self, resolver, experimental_device_assignment=None):
            assert resolver == "the resolver"
            some = experimental_device_assignment
            self.cores = [*range(8)]
            if some is not None:
                assert some.num_cores_per_replica == 1
                self.cores = [some.tpu_ordinal(replica) for replica in range(some.num_replicas)]
            self.num_replicas_in_sync = len(self.cores)

    pretend(monkeypatch, chips=4)
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v3-8")
    resolvers = tf.distribute.cluster_resolver
    monkeypatch.setattr(resolvers, "TPUClusterResolver", lambda tpu: "the resolver")
    monkeypatch.setattr(tf.config, "experimental_connect_to_cluster", lambda resolver: None)
    start = lambda resolver: started.append(resolver) or topology  # noqa: E731
    monkeypatch.setattr(tf.tpu.experimental, "initialize_tpu_system", start)
    monkeypatch.setattr(tf.distribute, "TPUStrategy", Strategy)
    for kept in (device._tpu, device._some_cores):
        kept.cache_clear()
    yield started
    for kept in (device._tpu, device._some_cores):
        kept.cache_clear()


def test_a_tpu_gives_as_many_replicas_as_are_asked_for(eight_cores, capsys):
    assert device.strategy(1).cores == [0]
    for replicas in (2, 3, 5, 7):
        cores = device.strategy(replicas).cores
        assert len({*cores}) == len(cores) == replicas and {*cores} < {*range(8)}
    for all_of_them in (8, 9, 64, None):
        assert device.strategy(all_of_them).cores == [*range(8)]
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "Runs on: TPU v3-8, 4 chip(s), 1 replica(s) (TPUStrategy)."
    assert said[-1] == "Runs on: TPU v3-8, 4 chip(s), 8 replica(s) (TPUStrategy)."


def test_a_tpu_is_started_once_and_each_strategy_made_once(eight_cores):
    """To start it again would wipe the variables on it, and a model belongs to its strategy."""
    first = [device.strategy(replicas) for replicas in (1, 2, 8)]
    assert device.preflight().ready in (True, False)
    again = [device.strategy(replicas) for replicas in (1, 2, None)]
    assert all(a is b for a, b in zip(first, again, strict=True))
    assert eight_cores == ["the resolver"]


@pytest.mark.parametrize("replicas", [0, -1, 2.0, "8", True, 65, 10**9])
def test_a_senseless_number_of_replicas_is_refused(replicas):
    with pytest.raises(ValueError, match=r"replicas is .* integer >= 1 and <= 64"):
        device.strategy(replicas)


def test_without_tensorflow_the_sentence_says_what_to_run(monkeypatch):
    pretend(monkeypatch, chips=1)
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(ImportError, match="%pip install -q tensorflow-tpu"):
        device.strategy()


def test_a_tensorflow_that_has_started_cannot_get_more_devices():
    pytest.importorskip("tensorflow")
    device.strategy(1)
    with pytest.raises(RuntimeError, match=r"started, with 8 device\(s\). Restart the kernel"):
        device.strategy(9)
