"""The agent that starts TensorFlow's processes: orders, and an end for all, whatever happens.

Here it loads nothing beforehand, so that it starts at once.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ENOUGH = 600.0
AGENT = "import labkit.distributed.tensorflow.agent as agent; agent.LOADED = (); agent.main()"
ELSEWHERE = (
    "import sys, labkit.distributed.tensorflow.agent as agent; sys.platform = 'other'; agent.main()"
)
WAITS = "import time\nprint('begun', flush=True)\ntime.sleep(1000)\n"
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="forks are Linux's")


class Talk:
    """An agent, and the one answer to each order."""

    def __init__(self, program):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen([sys.executable, "-c", program], env=environment, **pipes)
        assert self.answer() == "ready"

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, order, *what):
        print(json.dumps({"do": order, "with": what}), file=self.process.stdin, flush=True)
        return self.answer()


@pytest.fixture(params=[pytest.param(AGENT, marks=needs_linux), ELSEWHERE], ids=["fork", "spawn"])
def agent(request):
    talk = Talk(request.param)
    yield talk
    talk.process.stdin.close()
    talk.process.wait(ENOUGH)
    talk.process.stdout.close()


def program(folder, text):
    path = folder / "program.py"
    path.write_text(text, "utf-8")
    return str(path)


def awaited(condition):
    """Waits until it is true."""
    end = time.monotonic() + ENOUGH
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def log(folder):
    return (folder / "log").read_text("utf-8")


def runs(pid):
    """Whether a process runs; one that has ended and waits to be fetched does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return ") Z" not in stat.read_text("utf-8") if stat.exists() else True


def ended(agent, pid):
    awaited(lambda: agent.ask("code", pid) is not None)
    return agent.ask("code", pid)


def test_a_program_runs_in_its_folder_with_its_words_and_environment(agent, tmp_path):
    text = (
        "import os, sys\n"
        "if __name__ == '__main__':\n"
        "    print(sys.argv[1:], os.environ['WORD'], os.getcwd(), sys.stdin.read())\n"
        "    print('to the other stream', file=sys.stderr)\n"
    )
    pid = agent.ask("start", [program(tmp_path, text), "a", "b"], str(tmp_path), {"WORD": "c"})
    assert ended(agent, pid) == 0
    assert sorted(log(tmp_path).splitlines()) == [
        f"['a', 'b'] c {tmp_path} ",
        "to the other stream",
    ]


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("raise OSError('no disk')", 1, "OSError: no disk\n"),
        ("import sys; sys.exit('in a sentence.')", 1, "in a sentence.\n"),
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit()", 0, ""),
    ],
)
def test_how_a_program_ends_is_told(agent, tmp_path, text, code, told):
    pid = agent.ask("start", [program(tmp_path, text)], str(tmp_path), {})
    assert ended(agent, pid) == code
    assert log(tmp_path).endswith(told)


def test_a_program_is_asked_where_it_is_and_killed(agent, tmp_path):
    pid = agent.ask("start", [program(tmp_path, WAITS)], str(tmp_path), {})
    awaited(lambda: "begun" in log(tmp_path))
    assert agent.ask("code", pid) is None
    agent.ask("where", pid)
    awaited(lambda: 'program.py", line 3 in <module>' in log(tmp_path))
    assert agent.ask("kill", pid) == -signal.SIGKILL
    assert not runs(pid)
    assert agent.ask("code", pid) == -signal.SIGKILL
    assert agent.ask("kill", pid) == -signal.SIGKILL, "twice is not worse than once"


def test_when_its_orders_end_nothing_is_left(agent, tmp_path):
    pid = agent.ask("start", [program(tmp_path, WAITS)], str(tmp_path), {})
    awaited(lambda: "begun" in log(tmp_path))
    agent.process.stdin.close()
    assert agent.process.wait(ENOUGH) == 0
    assert not runs(pid)


@needs_linux
def test_a_killed_agent_takes_its_programs_along(tmp_path):
    agent = Talk(AGENT)
    pid = agent.ask("start", [program(tmp_path, WAITS)], str(tmp_path), {})
    awaited(lambda: "begun" in log(tmp_path))
    agent.process.kill()
    agent.process.communicate(timeout=ENOUGH)
    awaited(lambda: not runs(pid))


def test_a_killed_notebook_leaves_nothing(tmp_path):
    """The notebook's process is killed, as by a kernel's restart: its end of the pipe closes."""
    notebook = f"""
import sys, subprocess
agent = subprocess.Popen([sys.executable, "-c", {AGENT!r}], stdin=-1, stdout=-1, text=True)
agent.stdout.readline()
order = '{{"do": "start", "with": [["{program(tmp_path, WAITS)}"], "{tmp_path}", {{}}]}}'
print(order, file=agent.stdin, flush=True)
print(agent.pid, agent.stdout.readline(), flush=True)
input()
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", notebook], env=environment, **pipes) as process:
        ids = [int(word) for word in process.stdout.readline().split()]
        assert len(ids) == 2
        assert all(runs(pid) for pid in ids)
        process.kill()
    awaited(lambda: not any(runs(pid) for pid in ids))
