"""What is compiled for a simulation: kept once, made anew after a change, and what it needs."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.simulate import simulate
from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain import cpp
from labkit.fpga.toolchain.models import compiled

SKID = Path(__file__).parents[1] / "modules" / "skid.sv"


def test_no_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(RTLError, match=r"needs a C\+\+ compiler.*apt install g\+\+.*golden model"):
        simulate(SKID, "skid", {"x": [1]})


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    """A file stands where the folder should be: the model lies in a folder of this process."""
    (tmp_path / "file").write_text("")
    code = (
        "from labkit.fpga import simulate\n"
        f"r = simulate({str(SKID)!r}, 'skid', {{'x': [1, 2]}})\n"
        "print(r.outputs['y'].tolist())"
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "LABKIT_CACHE": str(tmp_path / "file"), "TMPDIR": str(scratch)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "[1, 2]\n", done.stderr
    assert not list(scratch.iterdir())


@pytest.mark.night(
    instead="tests/fpga/toolchain/test_models.py::test_a_change_of_anything_is_compiled_anew"
)
def test_no_temporary_files_and_equal_things_once(tmp_path, monkeypatch):
    scratch, kept = tmp_path / "scratch", tmp_path / "kept"
    scratch.mkdir()
    monkeypatch.setenv("LABKIT_CACHE", str(kept))
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    simulate(SKID, "skid", {"x": [1]})
    before = sorted(kept.rglob("*"))
    assert len([path for path in before if path.name.startswith("skid-")]) == 1
    monkeypatch.setattr(cpp, "compile_cpp", None)  # would fail
    simulate(SKID, "skid", {"x": [2]})
    assert sorted(kept.rglob("*")) == before
    with pytest.raises(RTLError):
        simulate(SKID.read_text().replace("endmodule", ""), "skid", {"x": [1]})
    assert not list(scratch.iterdir())


def test_neither_perl_nor_make_is_needed(tmp_path, monkeypatch):
    """A PATH on which only the compiler and its tools exist.

    Verilator's runtime, which takes longest, is made once for all tests: here, where nothing is
    kept from earlier runs, or by another test in the same way.
    """
    monkeypatch.setenv("CXX", cpp.compiler())
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("g++", "c++", "as", "ld", "ar", "nm", "ranlib"):
        if path := shutil.which(name):
            (tools / name).symlink_to(path)
    monkeypatch.setenv("PATH", str(tools))
    assert shutil.which("perl") is None and shutil.which("make") is None
    never_seen = SKID.read_text() + f"// {tmp_path}\n"
    assert simulate(never_seen, "skid", {"x": [3, 4]}, "verilator").outputs["y"].tolist() == [3, 4]
    assert list(cpp.folder().glob("verilated-*.o"))


def test_a_change_of_anything_is_compiled_anew():
    sources = read_sources(SKID, "skid")
    other = read_sources(SKID.read_text() + "\n", "skid")
    libraries = [compiled(sources, "cxxrtl"), compiled(sources, "verilator")]
    libraries += [compiled(sources, "cxxrtl", {"WIDTH": 9}), compiled(other, "cxxrtl")]
    assert len({model.library for model in libraries}) == 4
    assert libraries[2].ports["x_data"].width == 9


@pytest.mark.night(
    instead="tests/fpga/toolchain/test_models.py::test_a_change_of_anything_is_compiled_anew"
)
def test_several_processes_at_once(tmp_path):
    code = (
        "from labkit.fpga.simulate import simulate\n"
        f"run = simulate({str(SKID)!r}, 'skid', {{'x': [1, 2]}})\n"
        "print(run.outputs['y'].tolist())"
    )
    environment = {**os.environ, "LABKIT_CACHE": str(tmp_path)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    assert [process.communicate()[0] for process in started] == ["[1, 2]\n"] * 3
    assert not [path for path in tmp_path.rglob(".*")]
