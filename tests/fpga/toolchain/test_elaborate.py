"""One process of Yosys for a module, and what it says when it does not get to the end."""

from pathlib import Path

import pytest

from labkit.fpga.errors import RTLError, ToolError
from labkit.fpga.ports import read_ports
from labkit.fpga.simulate import simulate
from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain import elaborate
from labkit.fpga.toolchain.elaborate import CPP, PORTS, elaborated
from labkit.fpga.toolchain.lint import lint
from labkit.fpga.toolchain.models import compiled
from tests.night import others_by_night

SKID = Path(__file__).parents[1] / "modules" / "skid.sv"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fpga"


@pytest.fixture
def started(monkeypatch):
    """The scripts that Yosys was started with; what it leaves may be changed by `spoil(folder)`."""
    scripts = Started()

    def start(script, folder, sources):
        scripts.append(script)
        done = real(script, folder, sources)
        scripts.spoil(folder)
        return done

    real = elaborate.start_yosys
    monkeypatch.setattr(elaborate, "start_yosys", start)
    return scripts


class Started(list):
    def spoil(self, folder):
        pass


def test_ports_lint_and_a_model_take_one_process(started):
    sources = read_sources(SKID, "skid")
    ports = read_ports(sources, cpp=True)
    lint(sources, {})
    assert compiled(sources, "cxxrtl").ports == ports == read_ports(sources)
    assert len(started) == 1
    assert compiled(sources, "cxxrtl", {"WIDTH": 9}).ports["x_data"].width == 9
    assert len(started) == 2


def test_without_a_cache_each_question_is_answered(started, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "file"))
    sources = read_sources(SKID, "skid")
    lint(sources, {})
    assert read_ports(sources)["x_data"].width == 8
    assert len(started) == 2


def test_cpp_is_written_for_whoever_asks(started):
    sources = read_sources(SKID, "skid")
    assert elaborated(sources, {}, cpp=False).cpp is None
    assert "skid" in elaborated(sources, {}, cpp=True).cpp
    assert len(started) == 2
    assert "skid" in elaborated(sources, {}, cpp=False).cpp
    assert len(started) == 2


def test_what_yosys_refuses_after_the_ports_is_told_by_what_needs_it(monkeypatch):
    monkeypatch.setattr(elaborate, "WRITE_CPP", ["no_such_command"])
    sources = read_sources(SKID, "skid")
    assert read_ports(sources, cpp=True)["x_data"].width == 8
    lint(sources, {})
    with pytest.raises(RTLError, match=r"Yosys refuses .*No such command: no_such_command"):
        compiled(sources, "cxxrtl")


def test_what_yosys_refuses_before_its_check_is_told_by_lint(cache, monkeypatch):
    script = [command for command in elaborate.SCRIPT if command != "check"]
    script.insert(script.index("flatten"), "no_such_command")
    monkeypatch.setattr(elaborate, "SCRIPT", script)
    sources = read_sources(SKID, "skid")
    assert read_ports(sources)["x_data"].width == 8
    with pytest.raises(RTLError, match=r"Yosys refuses .*No such command: no_such_command"):
        lint(sources, {})
    assert not list(cache.rglob("*.json"))


def test_what_yosys_finds_fault_with_is_told_each_time(started, cache):
    twice = """module m (input logic clk, a, b, output logic q);
        always_ff @(posedge clk) q <= a;
        always_ff @(posedge clk) q <= b;
    endmodule"""
    sources = read_sources(twice, "m")
    assert read_ports(sources)["q"].width == 1
    for _ in range(2):
        with pytest.raises(RTLError, match="q is driven in several places"):
            lint(sources, {})
    assert len(started) == 3 and not list(cache.rglob("*.json"))


def test_a_refusal_without_ports_is_not_kept(started, cache):
    sources = read_sources(
        "module m (input logic a, output logic b);\n  assign b = ;\nendmodule", "m"
    )
    for _ in range(2):
        with pytest.raises(RTLError, match=r"Yosys refuses m\.sv, line 2") as refused:
            read_ports(sources)
        assert refused.value.line == 2
    assert len(started) == 2 and not list(cache.rglob("*.json"))


HALF = (
    "tests/fpga/toolchain/test_elaborate.py::test_half_a_file_is_a_full_disk_and_not_the_learners"
)


@pytest.mark.parametrize("name", others_by_night([PORTS, CPP], HALF))
def test_half_a_file_is_a_full_disk_and_not_the_learners(started, cache, name):
    def spoil(folder):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])

    started.spoil = spoil
    with pytest.raises(ToolError, match=r"of the module skid is not whole\. Is the disk"):
        simulate(SKID, "skid", {"x": [1]})
    assert not list(cache.rglob("*.json"))
    started.spoil = lambda folder: None
    assert simulate(SKID, "skid", {"x": [1]}).outputs["y"].tolist() == [1]


def test_a_module_with_nothing_inside_is_whole():
    with pytest.raises(RTLError, match="has no output"):
        simulate("module m (input logic clk);\nendmodule", "m", {}, cycles=3)


NOTED = """
module noted (input logic clk, input logic [7:0] a, output logic [7:0] y);
  (* note = "NOTE" *) logic [7:0] q;
  always_ff @(posedge clk) q <= a;
  assign y = q;
endmodule
"""


@pytest.mark.parametrize("ending", [r"\n", r"\015", r"\012#error it is C++", "\\\\"])
def test_a_text_that_would_leave_its_comment_in_the_cpp_is_refused(ending):
    """What stands on the next line would be compiled and run."""
    with pytest.raises(RTLError, match="has a line break or ends with a backslash"):
        compiled(read_sources(NOTED.replace("NOTE", f"x{ending}"), "noted"), "cxxrtl")


@pytest.mark.night(
    instead="tests/fpga/toolchain/test_elaborate.py::test_a_text_that_would_leave_its_comment_in_the_cpp_is_refused"
)
def test_a_text_of_one_line_is_no_fault():
    simulate(NOTED.replace("NOTE", "a // b */ 'c' \\\\ d"), "noted", {"a": [1, 2]}, cycles=3)
