"""A function that never returns is stopped, in any thread; a slow machine is not blamed."""

import signal
import sys
import threading
import time

import numpy as np
import pytest

from labkit.checks import clock
from labkit.checks.clock import Clock
from labkit.checks.verdict import check

ENDLESS = "The function does not return within the time of a check."


def busy(x, w, b):
    while True:
        pass


def swallows(x, w, b):
    while True:
        try:  # noqa: SIM105
            sum(range(100))
        except:  # noqa: E722
            pass


def swallows_asleep(x, w, b):
    while True:
        try:  # noqa: SIM105
            time.sleep(60)
        except:  # noqa: E722
            pass


def swallows_twice(x, w, b):
    while True:
        try:  # noqa: SIM105
            swallows_asleep(x, w, b)
        except:  # noqa: E722
            pass


def finally_forever(x, w, b):
    try:
        while True:
            pass
    finally:
        while True:
            pass


def sleeps(x, w, b):
    time.sleep(60)


def recursion(x, w, b):
    return recursion(x, w, b) if len(x) else 0


def slow_in_sum(x, w, b):  # no case alone takes long
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        pass
    return (x[:, None] * w).sum(2) + b


class Stopwatch:
    """Wall time, and this process's own processor time."""

    def __enter__(self):
        self.start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.wall, self.cpu = (
            time.perf_counter() - self.start[0],
            time.process_time() - self.start[1],
        )


def in_a_thread(function):
    worker = threading.Thread(target=function)
    worker.start()
    worker.join(20)
    assert not worker.is_alive(), "the check hangs"


@pytest.mark.parametrize("endless", [busy, swallows, finally_forever, slow_in_sum])
def test_a_busy_function_is_stopped(answer, endless):
    with Stopwatch() as watch:
        text = answer(endless)
    assert ENDLESS in text
    assert "Look for a loop whose condition never becomes false" in text
    assert f"`{endless.__name__}`" in text, "the line is named"
    assert watch.cpu < 1.5


@pytest.mark.parametrize("endless", [sleeps, swallows_asleep])
def test_a_sleeping_function_is_stopped(answer, endless):
    with Stopwatch() as watch:
        text = answer(endless)
    assert ENDLESS in text and "It waits for something, such as `input` or `sleep`." in text
    assert watch.cpu < 0.5 and watch.wall < 10


def test_even_nested_excepts_do_not_keep_it_alive(answer):
    assert ENDLESS in answer(swallows_twice)


@pytest.mark.parametrize("endless", [busy, swallows_asleep])
def test_another_thread_is_answered_too(answer, endless):
    texts = []
    with Stopwatch() as watch:
        in_a_thread(lambda: texts.append(answer(endless)))
    assert ENDLESS in texts[0]
    assert watch.cpu < 1.5


def test_threads_take_turns(right, capsys):
    stdout, results = sys.stdout, []
    threads = [
        threading.Thread(target=lambda: results.append(check("toy.linear", right) is right))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 6
    assert sys.stdout is stdout and threading.getprofile() is None


def test_right_and_wrong_in_another_thread(answer, right):
    texts = []
    in_a_thread(lambda: texts.append(answer(right)))
    in_a_thread(lambda: texts.append(answer(lambda x, w, b: np.dot(x, w.T) + b)))
    in_a_thread(lambda: texts.append(answer(lambda x, w, b: 1 / 0)))
    assert texts[0].startswith("Right:")
    assert "The function uses `numpy.dot`" in texts[1]
    assert "The function raises ZeroDivisionError." in texts[2]


def test_endless_recursion_is_an_error_not_a_matter_of_time(answer):
    assert "The function raises RecursionError." in answer(recursion)


def test_a_right_function_answers_at_once(right, capsys):
    check("toy.linear", right)  # the first one reads sources
    with Stopwatch() as watch:
        check("toy.linear", right)
    assert watch.cpu < 0.3


def test_handler_timer_and_tracer_are_put_back(answer, right):
    def handler(signum, frame):
        raise AssertionError("not now")

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 100)
    tracer = sys.gettrace()
    try:
        answer(right)
        answer(busy)
        answer(swallows_asleep)
        assert signal.getsignal(signal.SIGALRM) is handler
        assert 90 < signal.getitimer(signal.ITIMER_REAL)[0] <= 100
        assert sys.gettrace() is tracer
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Hands:
    """Clocks to be set by hand."""

    def __init__(self, monkeypatch):
        self.cpu = self.wall = 0.0
        monkeypatch.setattr(clock.time, "monotonic", lambda: self.wall)

    def clock(self):
        made = Clock()
        made._cpu_clock = lambda: self.cpu
        made.start()
        return made


def test_a_loaded_machine_is_not_blamed(monkeypatch):
    hands = Hands(monkeypatch)
    timer = hands.clock()
    hands.cpu, hands.wall = 0.5, 4.0  # got an eighth of a core
    assert not timer.over(None)
    hands.cpu = 0.71
    assert timer.over(None) and not timer.idle
    hands.cpu, hands.wall = 0.69, 10.1  # but not for ever
    assert timer.over(None)


def test_idleness_is_a_share_of_the_time(monkeypatch):
    hands = Hands(monkeypatch)
    timer = hands.clock()
    hands.cpu, hands.wall = 0.0, 0.85
    assert not timer.over(None)
    hands.cpu, hands.wall = 0.05, 0.95
    assert timer.over(None) and timer.idle


def test_the_budget_is_for_all_cases_together(monkeypatch):
    hands = Hands(monkeypatch)
    timer = hands.clock()
    hands.cpu = hands.wall = 0.4
    timer.stop()
    hands.wall = 50.0  # between two cases, nothing counts
    timer.start()
    hands.cpu, hands.wall = 0.69, 50.3
    assert not timer.over(None)
    hands.cpu, hands.wall = 0.71, 50.4
    assert timer.over(None)


def test_importing_is_free(answer, right, tmp_path, monkeypatch):
    """Stopping an import halfway would leave a broken package behind."""
    (tmp_path / "heavy_package.py").write_text(
        "import time\nend = time.thread_time() + 0.9\nwhile time.thread_time() < end: pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def learner(x, w, b):
        import heavy_package  # noqa: F401

        return right(x, w, b)

    assert answer(learner).startswith("Right:")
