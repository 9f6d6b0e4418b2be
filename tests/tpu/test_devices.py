"""The strategy's line, the preflight's sentences, and a TensorFlow that started too soon."""

import sys
from types import SimpleNamespace

import pytest

from labkit.tpu import devices


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
    report = devices.diagnose(installed, tpu, colab)
    assert report.ready is ready
    assert says in " ".join(report.findings)
    assert all(line.endswith(".") for line in report.findings)


def pretend(monkeypatch, chips):
    machine = SimpleNamespace(tpu_chips=chips, has_tpu=chips > 0, name="a CPU, 2 cores")
    monkeypatch.setattr(devices, "this_machine", lambda: machine)


def test_a_tpu_that_does_not_start_is_a_finding_and_no_traceback(monkeypatch, capsys):
    def busy():
        raise RuntimeError("The TPU does not start (busy).")

    pretend(monkeypatch, chips=1)
    monkeypatch.setattr(devices, "_is_installed", lambda name: name == "tensorflow-tpu")
    monkeypatch.setattr(devices, "_tpu_strategy", busy)
    assert not devices.preflight().ready
    assert "The TPU does not start (busy)." in capsys.readouterr().out


def test_the_resolver_is_not_believed(monkeypatch, capsys):
    pytest.importorskip("tensorflow")
    pretend(monkeypatch, chips=0)
    monkeypatch.setattr(devices, "_tpu_strategy", lambda: pytest.fail("asked for a TPU"))
    assert devices.strategy(3).num_replicas_in_sync == 3
    assert devices.strategy(1).num_replicas_in_sync == 1  # beside the other
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("Runs on: 3 virtual replicas on this CPU (a CPU, 2 cores), NOT on a")
    assert len(said) == 2


@pytest.mark.parametrize("replicas", [0, -1, 2.0, "8", True, 65, 10**9])
def test_a_senseless_number_of_replicas_is_refused(replicas):
    with pytest.raises(ValueError, match=r"replicas is .* integer >= 1 and <= 64"):
        devices.strategy(replicas)


def test_without_tensorflow_the_sentence_says_what_to_run(monkeypatch):
    pretend(monkeypatch, chips=1)
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(ImportError, match="%pip install -q tensorflow-tpu"):
        devices.strategy()


def test_a_tensorflow_that_has_started_cannot_get_more_devices():
    pytest.importorskip("tensorflow")
    devices.strategy(1)
    with pytest.raises(RuntimeError, match=r"started, with 8 device\(s\). Restart the kernel"):
        devices.strategy(9)
