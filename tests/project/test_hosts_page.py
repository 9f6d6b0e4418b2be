"""tools/cluster/hosts_page.py: what it writes, and how it ends, without any host."""

import subprocess
import sys
from pathlib import Path

import pytest

from labkit.distributed.links import hosts

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "cluster"))
from hosts_page import environment, write_page

sys.path.pop(0)


def raises(error):
    def page():
        raise error

    return page


@pytest.fixture(autouse=True)
def as_if_there_were_hosts(monkeypatch):
    monkeypatch.setattr(hosts, "available", lambda: True)
    monkeypatch.setattr("signal.signal", lambda *_: None)


def test_the_page_is_written(tmp_path):
    out = tmp_path / "page.md"
    assert write_page("name", "told", lambda: "# Page\n", ["--out", str(out)]) == 0
    assert out.read_text() == "# Page\n"


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (OSError("no disk"), 2, "name: no disk"),
        (subprocess.CalledProcessError(3, "torchrun"), 2, "name: Command 'torchrun'"),
        (KeyboardInterrupt(), 130, "the hosts are gone"),
    ],
)
def test_an_end_before_the_page_is_told(tmp_path, capsys, error, code, says):
    out = tmp_path / "page.md"
    assert write_page("name", "told", raises(error), ["--out", str(out)]) == code
    assert says in capsys.readouterr().err
    assert not out.exists()


def test_without_hosts_nothing_is_begun(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(hosts, "available", lambda: False)
    monkeypatch.setattr(hosts, "missing", lambda: "no namespaces here")
    page = raises(AssertionError("begun"))
    assert write_page("name", "told", page, ["--out", str(tmp_path / "page.md")]) == 2
    assert "name: no namespaces here" in capsys.readouterr().err


def test_programs_find_labkit_and_have_one_thread():
    said = environment()
    assert said["OMP_NUM_THREADS"] == "1"
    assert (Path(said["PYTHONPATH"]) / "labkit").is_dir()
