"""The command as a process: Ctrl-C, forks, stdin, much output, two at once."""

import signal

import pytest

from .conftest import FINE, RACY, begin, finished

ENDLESS = """\
import numpy as np
from numba import cuda
@cuda.jit
def k(x, n):
    for i in range(n):
        x[cuda.threadIdx.x // 2] += 1
print("begun", flush=True)
k[64, 256](np.zeros(128), 1 << 50)
"""


@pytest.mark.parametrize("options", [[], ["--launches", "1"]])
def test_ctrl_c_gives_the_report_so_far(here, options):
    (here / "endless.py").write_text(RACY + ENDLESS)
    process = begin(*options, "endless.py")
    assert [process.stdout.readline() for _ in range(2)] == ["counted\n", "begun\n"]
    process.send_signal(signal.SIGINT)
    done = finished(process)
    assert done.code == 1 and "script" not in done.said
    assert "endless.py:8: error: race in `count`" in done.said
    assert "Traceback" not in done.said


def test_ctrl_c_without_a_hazard_is_130(here):
    (here / "waits.py").write_text(FINE + "import time\nprint('', flush=True)\ntime.sleep(600)\n")
    process = begin("waits.py")
    assert process.stdout.readline() == "sum 4950\n" and process.stdout.readline() == "\n"
    process.send_signal(signal.SIGINT)
    done = finished(process)
    assert done.code == 130 and "nothing found in 1 kernel" in done.said


def test_forked_processes_do_not_report(here):
    fork = "import os\nif child := os.fork():\n    os.waitpid(child, 0)\nprint('end')\n"
    (here / "forks.py").write_text(FINE + fork)
    done = finished(begin("forks.py"))
    assert done.code == 0 and done.out.count("end\n") == 2
    assert done.said.count("numba-simt:") == 1
    assert "A child process was forked" in done.said
    assert done.said.startswith("numba-simt: nothing found in 1 kernel in this process\n")
    (here / "forks.py").write_text("from numba import cuda\n" + fork)
    assert "no kernel was launched in this process" in finished(begin("forks.py")).said


def test_processes_of_multiprocessing_do_not_report(here):
    pool = """
def work(i):
    x = np.zeros(2)
    fill[1, 32](x)
    return x.sum()
if __name__ == "__main__":
    import multiprocessing
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, range(3)))
"""
    (here / "pool.py").write_text(FINE + pool)
    done = finished(begin("pool.py"))
    assert done.code == 0 and "[1.0, 1.0, 1.0]" in done.out
    assert done.said.count("numba-simt:") == 1 and "2 child processes were forked" in done.said


def test_the_script_reads_stdin_and_prints_megabytes(here):
    (here / "prints.py").write_text("n = int(input())\nfor _ in range(n):\n    print('x' * 1000)\n")
    done = finished(begin("prints.py", stdin=-1), "4000\n")
    assert done.code == 0 and len(done.out) == 4000 * 1001
    assert done.said.startswith("numba-simt: no kernel was launched")


def test_two_at_once_have_each_their_report(here, monkeypatch):
    """Neither the cache nor anything else is shared so that one disturbs the other."""
    monkeypatch.setenv("NUMBA_SIMT_CACHE", str(here / "cache"))
    (here / "racy.py").write_text(RACY)
    (here / "fine.py").write_text(FINE)
    both = [begin("--json", f"{one}.json", f"{one}.py") for one in ("racy", "fine")]
    racy, fine = map(finished, both)
    assert (racy.code, fine.code) == (1, 0)
    assert "1 error" in racy.said and "nothing found" in fine.said


def test_a_folder_that_is_gone_leaves_the_report(here):
    (here / "gone").mkdir()
    (here / "racy.py").write_text(RACY + "import os\nos.rmdir(os.getcwd())\n")
    done = finished(begin("../racy.py", cwd=here / "gone"))
    assert done.code == 1 and f"{here / 'racy.py'}:8: error: race" in done.said


def test_a_reader_that_has_enough_ends_it(here):
    (here / "prints.py").write_text("while True:\n    print('x' * 1000)\n")
    process = begin("prints.py")
    process.stdout.readline()
    process.stdout.close()
    assert "BrokenPipeError" in process.stderr.read()
    assert process.wait(600) == 1
    process.stderr.close()
