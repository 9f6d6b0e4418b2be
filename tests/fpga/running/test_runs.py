"""Designs run in a process of their own, which a design may end, and which ends with this one."""

import os
import pickle
import signal
import subprocess
import sys

import pytest

from labkit.fpga import simulate
from labkit.fpga.errors import RTLError, ToolError
from labkit.fpga.running import runs, simulator
from tests.fpga.toolchain.test_tools import is_alive, wait_until

# A memory of ten words; the index of each side may be any of 16.
MEMORY = """
module memory (
  input logic clk, rst,
  input logic [3:0] read, write,
  output logic [7:0] y
);
  logic [7:0] words [0:9];
  always_ff @(posedge clk) begin
    words[write] <= 8'd3;
    y <= words[read];
  end
endmodule
"""
# Prints the simulator's number, and clocks for ever.
KERNEL = f"""
import sys
from labkit.fpga.running import runs
from labkit.fpga import simulate
MEMORY = {MEMORY!r}
def run(cycles):
    simulate(MEMORY, "memory", {{"read": 1, "write": 1}}, cycles=cycles, trace=False)
run(3)
(only,) = runs._started.values()
print(only._process.pid, flush=True)
run(10**15) if sys.argv[1] == "busy" else sys.stdin.read()
"""


def run(read=0, write=0):
    return simulate(MEMORY, "memory", {"read": [read, 0, 0], "write": write})


def mine():
    return runs._started[os.getpid()]


@pytest.mark.parametrize("side", ["read", "write"])
def test_an_index_out_of_bounds_is_told_and_ends_no_other_run(side):
    for index in (9, 0):
        assert len(run(**{side: index}).outputs["y"]) == 3
    with pytest.raises(RTLError) as error:
        run(**{side: 10})
    assert not isinstance(error.value, ToolError)
    assert str(error.value) == (
        f'The simulator of memory ended on an assertion: "out of bounds {side}". An index is out '
        "of bounds: it points beyond the end of a memory. Compare the largest value that the index "
        "can have with the memory's length."
    )
    assert run().outputs["y"].tolist()[-1] == 3


def test_all_runs_have_one_process():
    run()
    first = mine()
    run(read=5)
    assert mine() is first and first.runs


def test_a_fork_has_a_process_of_its_own(monkeypatch):
    run()
    first = mine()
    monkeypatch.setattr(runs.os, "getpid", lambda: -1)
    run()
    assert mine() is not first
    runs._started.pop(-1).end()


def test_one_that_was_killed_is_replaced():
    run()
    first = mine()
    first._process.kill()
    first._process.wait()
    run()
    assert mine() is not first


def test_an_interrupt_ends_it(monkeypatch):
    def interrupted(stream):
        raise KeyboardInterrupt

    run()
    first = mine()
    with monkeypatch.context() as patched:
        patched.setattr(pickle, "load", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run()
    assert not first.runs
    assert run().outputs["y"].tolist()[-1] == 3


def test_what_the_system_ends_is_no_fault_of_the_design():
    for code, how in ((-signal.SIGKILL, "SIGKILL"), (3, "exit code 3")):
        error = runs._ended("memory", code, "no assertion")
        assert isinstance(error, ToolError)
        assert str(error) == f"The simulation of memory was ended by the system ({how})."


def test_an_assertion_is_told_with_its_words():
    said = "all.cpp:3: f(): Assertion `fits' failed.\n"
    assert str(runs._ended("memory", -6, said)).endswith('assertion: "Assertion `fits\' failed.".')


@pytest.mark.parametrize("state", ["busy", "idle"])
def test_it_ends_with_the_process_that_it_serves(state):
    command = [sys.executable, "-c", KERNEL, state]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as kernel:
        pid = int(kernel.stdout.readline())
        assert is_alive(pid)
        kernel.kill()
    wait_until(lambda: not is_alive(pid))


def test_many_slices_are_one_run(monkeypatch):
    jobs = []
    whole = runs.run
    monkeypatch.setattr(runs, "run", lambda top, job: jobs.append(job) or whole(top, job))
    run(read=3)
    job = {**jobs[0], "driver": str(runs.prepare())}
    nobody, _open = os.pipe()
    in_one = simulator.outcome(job, nobody)
    monkeypatch.setattr(simulator, "SLICE", 1)
    assert simulator.outcome(job, nobody) == in_one
    os.close(nobody)
    os.close(_open)
