"""Each place of labkit that opens a port or starts a process is named, with its sockets' test.

The table below has the file and the call. A new one fails here until it is named: with the test
that lists what it listens to, or with the reason why it listens nowhere.
"""

import ast
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from jupyter_client.manager import KernelManager
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, RunningKernel

from labkit.course import lab
from labkit.course.execute import execute
from labkit.course.notebook import NOT_RUN, Notebook
from labkit.fpga.board.pynq_package import pynq_cache
from tests.distributed.sockets import listening, reachable
from tests.project.test_floors import LESSONS

ROOT = Path(__file__).resolve().parents[2]
SOCKETS = "tests/distributed/test_sockets.py::"
# Calls that bind a port, start a server, or start a process that could.
CALLS = {
    *("create_server", "bind", "listen", "start_server", "add_insecure_port", "add_secure_port"),
    *("TCPStore", "init_process_group", "rendezvous", "Server", "HTTPServer", "TCPServer"),
    *("ThreadingHTTPServer", "Listener", "serve_forever", "NotebookClient", "KernelManager"),
    *("Popen", "Process", "Pool", "ProcessPoolExecutor", "fork", "execve", "execv", "posix_spawn"),
    *("subprocess.run", "subprocess.call", "check_call", "check_output", "os.system"),
}
NO_SOCKET = "no socket: the arguments of a function or kernel, or a process that runs already"
A_TOOL = "a compiler or another tool, which is waited for and serves nobody"
A_PIPE = "it is spoken to through pipes"
BY_ITS_CALLER = "what it starts there is named by who calls it"
A_CLOSED_ROOM = "in a network of its own, which has a loopback and nothing else"
HOSTS = "in namespaces of two_hosts, which have a cable to each other and nothing else"

LISTENERS = {
    "chapters/04_distributed/train_ps.py Server": SOCKETS + "test_train_ps",
    "chapters/04_distributed/train_tf_ps.py tf.distribute.Server": SOCKETS + "test_tensorflow",
    "labkit/checks/judge.py parameters.bind": NO_SOCKET,
    "labkit/course/execute.py "
    "NotebookClient": "tests/project/test_listeners.py::test_a_lesson_s_kernel",
    "labkit/course/kernel.py pipe.bind": "tests/project/test_listeners.py::test_the_lab_s_kernel",
    "labkit/course/lab.py os.execve": "tests/project/test_listeners.py::test_lab",
    "labkit/course/verify.py subprocess.run": A_TOOL,
    "labkit/course/grading/closed_process.py subprocess.Popen": A_PIPE,
    "labkit/course/grading/closed_room.py os.execve": A_CLOSED_ROOM,
    "labkit/course/grading/closed_room.py os.fork": A_CLOSED_ROOM,
    "labkit/course/handout/first_cell.py subprocess.run": A_TOOL,
    "labkit/course/handout/payload.py subprocess.run": A_TOOL,
    "labkit/course/handout/ready.py subprocess.run": A_TOOL,
    "labkit/distributed/connections/closed_network.py "
    "subprocess.run": "tests/distributed/connections/"
    "test_closed_network.py::test_only_its_own_processes_are_reached",
    "chapters/04_distributed/source/restarts_and_monitoring/elastic.py subprocess.Popen": SOCKETS
    + "test_torchrun",
    "chapters/04_distributed/source/restarts_and_monitoring/elastic.py subprocess.run": SOCKETS
    + "test_ranks",
    "labkit/distributed/connections/door.py listener.bind": SOCKETS + "test_parameter_servers",
    "labkit/distributed/connections/door.py listener.listen": SOCKETS + "test_parameter_servers",
    "labkit/distributed/connections/door.py socket.create_server": SOCKETS + "test_train_ps",
    "labkit/distributed/links/host_programs.py subprocess.Popen": HOSTS,
    "labkit/distributed/links/hosts.py subprocess.Popen": HOSTS,
    "labkit/distributed/links/hosts.py subprocess.run": A_TOOL,
    "labkit/distributed/launch.py processes.listen": NO_SOCKET,
    "labkit/distributed/links/link_trials.py dist.init_process_group": HOSTS,
    "labkit/distributed/monitoring.py psutil.Process": NO_SOCKET,
    "labkit/distributed/monitoring.py subprocess.Popen": SOCKETS + "test_tensorboard",
    "labkit/distributed/parameter_server/processes/role_process.py context.Process": SOCKETS
    + "test_parameter_servers",
    "labkit/distributed/parameter_server/processes/roles.py Server": SOCKETS
    + "test_parameter_servers",
    "labkit/distributed/launching/processes.py context.Process": SOCKETS + "test_ranks",
    "labkit/distributed/launching/rank.py dist.init_process_group": SOCKETS + "test_ranks",
    "labkit/distributed/launching/rank.py signature(real).bind": NO_SOCKET,
    "labkit/distributed/launch.py context.Process": A_PIPE,
    "labkit/distributed/judging/refereed_run.py context.Process": A_PIPE,
    "labkit/distributed/connections/relay.py subprocess.Popen": SOCKETS + "test_ranks",
    "chapters/04_distributed/source/hybrid_and_sharded/pretended.py "
    "dist.init_process_group": "its backend only pretends",
    "labkit/distributed/tensorflow/agent.py os.fork": SOCKETS + "test_tensorflow",
    "labkit/distributed/tensorflow/agent.py subprocess.Popen": SOCKETS + "test_tensorflow",
    "labkit/distributed/tensorflow/orders.py subprocess.Popen": SOCKETS + "test_tensorflow",
    "labkit/distributed/tensorflow/turns.py "
    "trial.bind": "it looks whether a port is free, and serves none",
    "labkit/distributed/launching/torchrun.py dist.init_process_group": SOCKETS + "test_torchrun",
    "labkit/distributed/launching/torchrun.py dist.rendezvous": SOCKETS + "test_torchrun",
    "labkit/fpga/board/board.py Server": "tests/project/test_listeners.py::test_board",
    "labkit/fpga/board/services/server.py "
    "probe.bind": "it looks whether a port is free, and serves none",
    "labkit/fpga/board/services/server.py "
    "server.add_insecure_port": "tests/project/test_listeners.py::test_board",
    "labkit/checks/phrasing.py inspect.signature(answer).bind": NO_SOCKET,
    "labkit/fpga/toolchain/cpp.py subprocess.run": A_TOOL,
    "labkit/fpga/running/runs.py subprocess.Popen": A_PIPE,
    "labkit/fpga/toolchain/tools.py subprocess.Popen": A_TOOL,
    "labkit/gpu/report/machine.py subprocess.run": A_TOOL,
    "labkit/gpu/report/runner.py subprocess.Popen": A_TOOL,
    "labkit/gpu/report/sections/compilers.py subprocess.run": A_TOOL,
    "labkit/gpu/report/sections/nsight.py subprocess.run": A_TOOL,
    "labkit/gpu/report/sections/sanitizer.py subprocess.run": A_TOOL,
    "labkit/machine_probe.py subprocess.run": A_TOOL,
    "labkit/tpu/compiler.py subprocess.run": A_TOOL,
    "simt/numba_simt/callables/calls.py signature_of(handler.method).bind": NO_SOCKET,
    "simt/numba_simt/callables/calls.py signature_of(kind).bind": NO_SOCKET,
    "simt/numba_simt/command/comparison.py subprocess.run": BY_ITS_CALLER,
    "simt/numba_simt/execution/native.py subprocess.run": A_TOOL,
    "simt/numba_simt/instructions/inlining.py signature.bind": NO_SOCKET,
    "simt/numba_simt/launching/dispatcher.py self.kernel.bind": NO_SOCKET,
}


def calls_in(text):
    """The calls of a program that are in CALLS, as they are written."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            written = ast.unparse(node.func)
            if {written, written.rpartition(".")[2]} & CALLS:
                yield written


def listening_here():
    scripts = [*(ROOT / "chapters").glob("*/*.py"), *LESSONS]
    rooms = ROOT / "labkit", ROOT / "simt" / "numba_simt"
    programs = [*(path for room in rooms for path in room.rglob("*.py")), *scripts]
    for path in programs:
        for call in calls_in(path.read_text("utf-8")):
            yield f"{path.relative_to(ROOT).as_posix()} {call}"


def test_the_scan_sees_each_kind_of_call():
    text = "x.bind(1)\nServer()\nsubprocess.run()\nself.run()\nos.system()\nplatform.system()\n"
    assert list(calls_in(text)) == ["x.bind", "Server", "subprocess.run", "os.system"]


def test_whatever_could_listen_is_named():
    assert sorted(set(listening_here())) == sorted(LISTENERS)


@pytest.mark.parametrize("test", sorted({v for v in LISTENERS.values() if "::" in v}))
def test_the_tests_named_exist(test):
    file, _, name = test.partition("::")
    functions = ast.walk(ast.parse((ROOT / file).read_text("utf-8")))
    assert name in {one.name for one in functions if isinstance(one, ast.FunctionDef)}


def command(*words):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "labkit", *words]
    return subprocess.Popen(words, stdout=-1, stderr=subprocess.STDOUT, text=True, env=environment)


def said_until(process, words):
    """Its lines, up to the one with the words."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError("".join(lines))


@pytest.mark.skipif(sys.platform != "linux", reason="the list is Linux's")
def test_board():
    if not pynq_cache.files():  # asked without importing pynq, which looks for a board then
        pytest.skip("pynq is not installed")
    with command("board", "loopback", "--address", "127.0.0.1") as board:
        try:
            said_until(board, "A virtual board is at 127.")
            assert listening(board.pid) and reachable(board.pid) == []
        finally:
            board.terminate()
    with command("board", "loopback") as board:
        try:
            said_until(board, "A virtual board is at unix:")
            assert listening(board.pid) == []
        finally:
            board.terminate()


@pytest.mark.skipif(sys.platform != "linux", reason="the list is Linux's")
def test_lab(tmp_path, monkeypatch):
    """It listens for this computer only. Its kernel has no port: five channels are files, and so
    is the pipe through which forked processes print. It runs nothing of the folder it is called in.
    """
    pytest.importorskip("jupyterlab")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jupyterlab.py").write_text("raise SystemExit('somebody else has put it here')")
    short = tempfile.TemporaryDirectory(prefix="lab", dir="/tmp")  # for paths of socket files
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", f"{short.name}/run")
    monkeypatch.setenv("LABKIT_WORK", str(tmp_path))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    words = ("--no-browser", "--ServerApp.port=0", "--IdentityProvider.token=secret")
    with short, command("lab", *words) as server:
        try:
            url = said_until(server, "http://127.0.0.1:")[-1].split()[-1].partition("/lab")[0]
            while server.poll() is None and not listening(server.pid):
                time.sleep(0.05)  # it says so first, and then listens
            assert server.poll() is None and reachable(server.pid) == []
            ask = urllib.request.Request(f"{url}/api/kernels?token=secret", method="POST")
            with urllib.request.urlopen(ask, timeout=600) as answer:
                kernel = json.load(answer)["id"]
            folder = Path(os.environ["JUPYTER_RUNTIME_DIR"])
            end = time.monotonic() + 600
            while server.poll() is None and len(list(folder.glob(f"*{kernel}-ipc-*"))) < 5:
                assert time.monotonic() < end, "no five files: the kernel talks over TCP"
                time.sleep(0.05)
            assert server.poll() is None and folder.stat().st_mode & 0o077 == 0
            [pid] = _kernels(server.pid)
            assert listening(pid) == []
            assert list(folder.glob(f"*{kernel}-ipc-fork"))
        finally:
            for pid in _kernels(server.pid):
                os.kill(pid, signal.SIGKILL)
            server.kill()


PRINTS_IN_A_FORK = """
import os, warnings
warnings.simplefilter("ignore")  # of a fork beside threads
if not (child := os.fork()):
    print("a fork's words", flush=True)
    os._exit(0)
os.waitpid(child, 0)
print("its parent's", flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the list is Linux's")
@pytest.mark.parametrize("transport", ["ipc", "tcp"])
def test_the_lab_s_kernel(transport, tmp_path, monkeypatch):
    """Without a port where it talks through files; a fork's words come; no file is left.

    What PyTorch compiles in it lies in the user's own folder.
    """
    pytest.importorskip("jupyterlab")
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    monkeypatch.setenv("JUPYTER_PATH", str(lab.SETTINGS))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "links.py").touch()  # as a neighbour of kernel.py is called
    with tempfile.TemporaryDirectory(prefix="lab", dir="/tmp") as short:
        manager = KernelManager(transport=transport, connection_file=f"{short}/kernel.json")
        manager.start_kernel()
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=600)
            assert "labkit/course/kernel.py" in os.path.realpath(
                manager.provisioner.process.args[1]
            )
            ports = listening(manager.provisioner.pid)
            assert ports == [] if transport == "ipc" else len(ports) > 5
            said = []
            outputs = lambda message: said.append(message["content"].get("text", ""))  # noqa: E731
            client.execute_interactive(PRINTS_IN_A_FORK, timeout=600, output_hook=outputs)
            code = "import links, os; print(links.__file__, os.environ['TORCHINDUCTOR_CACHE_DIR'])"
            client.execute_interactive(code, timeout=600, output_hook=outputs)
            assert "a fork's words" in "".join(said) and "its parent's" in "".join(said)
            assert f"{tmp_path / 'links.py'} {tmp_path / 'cache' / 'torchinductor'}" in "".join(
                said
            )
        finally:
            client.stop_channels()
            manager.shutdown_kernel()
        assert os.listdir(short) == []


def _kernels(lab):
    """Those below it that were given a connection file; for a moment there may be others."""
    found = []
    for process in psutil.Process(lab).children():
        with suppress(psutil.Error):
            if any(word.endswith(".json") for word in process.cmdline()):
                found.append(process.pid)
    return found


LISTENS = f"""
import json, os, sys
sys.path.insert(0, {str(ROOT)!r})
from tests.distributed.sockets import listening

[file] = [word for word in sys.argv if word.endswith(".json")]
print(json.dumps([listening(os.getpid()), file, os.stat(os.path.dirname(file)).st_mode & 0o777]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the list is Linux's")
@pytest.mark.parametrize("by", ["labkit build", "pytest --nbval"])
def test_a_lesson_s_kernel(by, tmp_path):
    """It has no port, but files in a folder of its user alone, which goes with it."""
    if by == "labkit build":
        cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": PRINTS_IN_A_FORK}
        cells = [cell | NOT_RUN, cell | NOT_RUN | {"id": "b", "source": LISTENS}]
        content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        ran = execute(Notebook(tmp_path / "a.ipynb", "a.ipynb", content))
        forked, said = ("".join(cell["outputs"][0]["text"]) for cell in ran.cells)
        assert "a fork's words" in forked
    else:
        kernel = RunningKernel(CURRENT_ENV_KERNEL_NAME, str(tmp_path), startup_timeout=600)
        try:
            ask = kernel.execute_cell_input(LISTENS)
            said = next(
                message["content"]["text"]
                for message in iter(lambda: kernel.get_message("iopub", timeout=600), None)
                if message["msg_type"] == "stream" and message["parent_header"]["msg_id"] == ask
            )
        finally:
            kernel.stop()
        del kernel
    ports, file, mode = json.loads(said)
    assert ports == [] and mode == 0o700
    gc.collect()
    assert not os.path.exists(os.path.dirname(file))
