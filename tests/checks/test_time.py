"""A function that never returns is stopped, in any thread; a slow or busy machine is not blamed.

Nothing here reads a stopwatch: budgets are work, and where time must pass, it is set by hand.
"""

import signal
import sys
import threading
import time

import numpy as np
import pytest

from labkit.checks.judge import check
from labkit.checks.watch import case_run, clock
from labkit.checks.watch.clock import Clock
from labkit.checks.watch.meter import ThreadMeter

ENDLESS = "The function does not return."


@pytest.fixture(autouse=True)
def small_budget(monkeypatch):
    """A fiftieth of the real one: an endless loop is as endless, and sooner over."""
    monkeypatch.setattr(clock, "ROUNDS", 1_000_000)


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


def in_a_thread(function):
    worker = threading.Thread(target=function)
    worker.start()
    worker.join(600)
    assert not worker.is_alive(), "the check hangs"


@pytest.mark.parametrize("endless", [busy, swallows, finally_forever])
def test_a_busy_function_is_stopped(answer, endless):
    text = answer(endless)
    assert ENDLESS in text
    assert "Look for a loop whose condition never becomes false" in text
    assert f"`{endless.__name__}`" in text, "the line is named"


def test_the_line_is_known_from_the_first_strike(answer, monkeypatch):
    """A later one may meet the function on its way out, and then the traceback has no line."""
    monkeypatch.setattr(case_run, "learner_line", lambda frames: None)
    assert "`busy`" in answer(busy)
    texts = []
    in_a_thread(lambda: texts.append(answer(busy)))
    assert "`busy`" in texts[0]


@pytest.mark.parametrize("endless", [sleeps, swallows_asleep])
def test_a_sleeping_function_is_stopped(answer, endless):
    text = answer(endless)
    assert ENDLESS in text and "It waits for something, such as `input` or `sleep`." in text


def test_even_nested_excepts_do_not_keep_it_alive(answer):
    assert ENDLESS in answer(swallows_twice)


@pytest.mark.parametrize("endless", [busy, swallows_asleep])
def test_another_thread_is_answered_too(answer, endless):
    texts = []
    in_a_thread(lambda: texts.append(answer(endless)))
    assert ENDLESS in texts[0]


def test_a_tick_after_the_function_does_not_lose_its_line(monkeypatch):
    """Fast ticks go on after the last strike: none may hit what notes the error."""
    monkeypatch.setattr(clock.signal, "setitimer", lambda *_: None)
    timer = Clock()
    timer._meter = Meter()
    timer.start()
    timer.expired = True
    timer._tick(signal.SIGALRM, sys._getframe())  # the caller of start: not struck
    with pytest.raises(clock.TimeUp):
        (lambda: timer._tick(signal.SIGALRM, sys._getframe()))()
    timer.stop()


def test_a_diagnosis_already_found_wins_over_the_time_out(answer):
    def wrong_and_then_endless(x, w, b):
        while len(x) == 9:  # the third case
            pass
        return x @ w.T

    text = answer(wrong_and_then_endless)
    assert "The bias is never added." in text and ENDLESS not in text


def test_an_endless_later_case_is_told_with_its_case(answer, right):
    def endless_when_ragged(x, w, b):
        while len(x) == 9:
            pass
        return right(x, w, b)

    text = answer(endless_when_ragged)
    assert ENDLESS in text and "Case: ragged" in text


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


class Meter:
    """Processor time, sleep and waits for a disk, to be set by hand."""

    def __init__(self):
        self.seconds, self.sleep, self.times = 0.0, 0.0, 0

    def cpu(self):
        return self.seconds

    def slept(self):
        return self.sleep

    def fetches(self):
        return self.times


@pytest.fixture
def meter(monkeypatch):
    """A round of an empty loop takes a microsecond, so that the budget is one second."""
    monkeypatch.setattr(clock, "seconds_of_a_round", lambda: 1e-6)
    return Meter()


def started(meter, own=0.0):
    """A clock that has seen its first tick."""
    made = Clock()
    made._meter = meter
    made.start(own)
    assert not made.over(None)
    return made


def test_a_machine_that_gives_no_processor_is_not_blamed(meter):
    timer = started(meter)
    for _ in range(100_000):  # more than an hour of ticks
        assert not timer.over(None)


def test_the_budget_is_work(meter):
    timer = started(meter)
    meter.seconds = 0.99
    assert not timer.over(None)
    meter.seconds = 1.01
    assert timer.over(None) and not timer.idle


def test_a_slow_machine_gets_more_seconds_for_the_same_work(meter, monkeypatch):
    monkeypatch.setattr(clock, "seconds_of_a_round", lambda: 5e-6)
    timer = started(meter)
    meter.seconds = 4.9
    assert not timer.over(None)
    meter.seconds = 5.1
    assert timer.over(None)


def test_a_case_that_is_long_for_us_may_be_long_for_the_learner(meter):
    timer = started(meter, own=0.5)
    meter.seconds = 50.9
    assert not timer.over(None)
    meter.seconds = 51.1
    assert timer.over(None)


def test_each_case_has_its_own_budget(meter):
    timer = started(meter)
    for _ in range(100):
        meter.seconds += 0.9
        assert not timer.over(None)
        timer.stop()
        timer.start()


TICKS = 40  # of sleep, until a function idles
LOOK = 0.05  # seconds between two ticks


def test_waiting_is_seen_by_its_sleep(meter):
    timer = started(meter)
    for tick in range(TICKS):
        assert not timer.idle, tick
        meter.sleep += LOOK
        meter.seconds += 1e-4
        timer.over(None)
    assert timer.idle


def test_whoever_works_between_two_waits_does_not_idle(meter):
    timer = started(meter)
    for _ in range(100):
        for _ in range(TICKS - 1):
            meter.sleep += LOOK
            assert not timer.over(None)
        meter.seconds += 0.006
        assert not timer.over(None)


def test_whoever_waits_for_a_disk_does_not_idle(meter):
    timer = started(meter)
    for _ in range(100):
        meter.sleep += 1.9
        meter.times += 1
        assert not timer.over(None)


def test_on_a_busy_machine_a_sleeping_function_is_found_too(meter):
    """It queues for a processor after each tick that wakes it, longer than it slept."""
    timer = started(meter)
    ticks = 0
    while not timer.over(None):
        meter.sleep += LOOK / 10
        ticks += 1
    assert timer.idle and TICKS * 9 < ticks < TICKS * 11


def test_what_a_rank_waits_for_others_is_no_sleep(meter):
    timer = started(meter)
    for _ in range(10):
        with timer.paused():
            meter.sleep += 1000
        assert not timer.over(None)


def test_the_meter_tells_sleep_from_work():
    meter = ThreadMeter(threading.current_thread())
    slept = meter.slept()
    time.sleep(0.2)
    assert meter.slept() - slept > 0.15
    assert any(_works_awake(meter) for _ in range(20))  # a host may take the core away from some


def _works_awake(meter):
    """Whether 0.05 s of work counts as 0.04 s, at least, that were not slept."""
    cpu, slept, begin = meter.cpu(), meter.slept(), time.monotonic()
    while meter.cpu() < cpu + 0.05:
        sum(range(1000))
    return meter.slept() - slept < time.monotonic() - begin - 0.04


def test_the_meter_sees_another_thread_sleep():
    woken = threading.Event()
    sleeper = threading.Thread(target=woken.wait)
    sleeper.start()
    meter = ThreadMeter(sleeper)
    slept = meter.slept()
    time.sleep(0.2)
    grown = meter.slept() - slept
    woken.set()
    sleeper.join()
    assert grown > 0.15


def test_what_a_look_costs_is_not_charged(meter, monkeypatch):
    """On a slow machine, 40 looks at a sleeping function may cost more than a small budget."""
    monkeypatch.setattr(clock, "ROUNDS", 50_000)  # 50 ms
    timer = started(meter)
    for _ in range(TICKS - 1):
        meter.seconds += 0.004  # the signal that brought us here
        meter.sleep += LOOK
        assert not timer.over(None)
    meter.sleep += 2 * LOOK
    assert timer.over(None) and timer.idle


def test_importing_is_free(answer, right, tmp_path, monkeypatch):
    """Stopping an import halfway would leave a broken package behind."""
    (tmp_path / "heavy_package.py").write_text("for _ in range(20_000_000): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def learner(x, w, b):
        import heavy_package  # noqa: F401

        return right(x, w, b)

    assert answer(learner).startswith("Right:")
