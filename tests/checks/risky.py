"""Answers that endanger the process that checks them; each is right, but for what it does.

    RISKY    the answer's name -> (the answer, words of what it is told)

`python -m tests.checks.risky NAME ...` checks them one after the other in one process, and prints a
line for each: its name, what it was told, and what was changed or left behind.
"""

import builtins
import contextlib
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import get_context
from types import ModuleType

import numpy as np

RISKY = {}


def risky(says):
    """Enters an answer, which does something and then returns what is right."""

    def enter(act):
        def answer(x, w, b):
            result = act()
            return x @ w.T + b if result is None else result

        RISKY[act.__name__] = answer, says
        return act

    return enter


def by_c(function, argument):
    """A call of which no profiler is told."""
    return list(map(function, [argument]))


def nested(depth):
    made = []
    for _ in range(depth):
        made = [made]
    return made


# What would end or double the process.


@risky("calls os._exit, which disturbs the check; leave it out")
def exits():
    os._exit(1)


@risky("calls os._exit")
def exits_by_way_of_c():
    by_c(os._exit, 1)


@risky("calls os._exit")
def exits_after_many_calls():
    for _ in range(60_000):  # more than the profiler looks at
        abs(1)
    os._exit(1)


@risky("calls os.abort")
def exits_in_an_except():
    try:
        os.abort()
    finally:
        os._exit(1)


@risky("calls os.abort")
def aborts():
    os.abort()


@risky("calls os.kill")
def kills_itself():
    os.kill(os.getpid(), signal.SIGKILL)


@risky("calls os.killpg")
def kills_its_group():
    os.killpg(os.getpgid(0), signal.SIGKILL)


@risky("calls signal.raise_signal")
def raises_a_signal():
    signal.raise_signal(signal.SIGTERM)


@risky("calls os.fork")
def forks():
    os.fork()


@risky("calls os.execv")
def becomes_another():
    os.execv("/bin/true", ["true"])


@risky("calls os.execlp")
def becomes_another_by_name():
    os.execlp("true", "true")


@risky("ends the program: it calls exit or raises SystemExit")
def leaves():
    sys.exit(3)


class Stop(BaseException):
    pass


@risky("The function raises Stop.")
def stops():
    raise Stop


# What would switch off the check, or stay on behind it.


@risky("calls signal.alarm")
def sets_an_alarm():
    signal.alarm(1)


@risky("calls signal.signal")
def takes_a_signal():
    signal.signal(signal.SIGALRM, signal.SIG_IGN)


@risky("calls sys.settrace")
def traces():
    sys.settrace(lambda *_: None)


@risky("calls sys.setrecursionlimit")
def allows_any_recursion():
    sys.setrecursionlimit(10**9)


# What others need.


@risky("Right")
def closes_stdout():
    sys.stdout.close()
    print("said all the same")


@risky("Right")
def has_no_stdout():
    sys.stdout = None


@risky("calls os.close")
def closes_a_descriptor():
    os.close(1)


@risky("calls os.closerange")
def closes_all_descriptors():
    os.closerange(0, 100)


@risky("changes the working directory; it was put back")
def changes_directory():
    os.chdir("/")


@risky("changes Python's own print; it was put back")
def deletes_print():
    del builtins.print


@risky("changes Python's own len; it was put back")
def replaces_len():
    builtins.len = lambda _: 3


@risky("changes the entry json of sys.modules; it was put back")
def removes_a_module():
    del sys.modules["json"]


@risky("changes the entry numpy of sys.modules; it was put back")
def replaces_a_module():
    sys.modules["numpy"] = ModuleType("numpy")


# What takes too much.


@risky("asks for more memory than there is")
def asks_for_a_terabyte():
    np.empty(1 << 40, np.uint8)[:: 1 << 20] = 1


@risky("asks for more memory than there is")
def keeps_all():
    """Pages that nobody has written to yet are no work, and the system grants them without end."""
    kept = []
    while True:
        kept.append(np.zeros(1 << 25))


@risky("asks for more memory than there is")
def keeps_all_in_text():
    kept = []
    while True:
        kept.append(bytes(1 << 28))


@risky("Right")
def prints_a_million_lines():
    for _ in range(1_000_000):
        print("line")


@risky("Right")
def complains_in_a_million_lines():
    for _ in range(1_000_000):
        sys.stderr.write("line\n")


@risky("Right")
def prints_a_long_line():
    print("x" * (1 << 28))


# Recursion, and objects with ideas of their own.


@risky("The function raises RecursionError.")
def recurses_through_sorted():
    def key(n):
        return sorted([n], key=key)

    key(1)


@risky("The function raises RecursionError.")
def shows_what_is_deep():
    repr(nested(100_000))


@risky("should be a NumPy array")
def returns_what_is_deep():
    return nested(100_000)


@risky("should be a NumPy array")
def returns_what_holds_itself():
    made = []
    made.append(made)
    return made


class Fierce:
    """Raises what it can, wherever it is looked at."""

    def fierce(self, *_):
        raise KeyboardInterrupt

    __eq__ = __bool__ = __repr__ = __len__ = __array__ = __iter__ = fierce
    __hash__ = None


@risky("should be a NumPy array")
def returns_what_raises():
    return Fierce()


class Dying:
    def __del__(self):
        raise KeyboardInterrupt


@risky("Right")
def drops_what_raises():
    Dying()


@risky("should be a NumPy array")
def returns_what_never_ends():
    return itertools.count()


# What never ends.


@risky("The function does not return.")
def searches_for_ever():
    re.match(r"(a+)+$", "a" * 50 + "b")


@risky("The function does not return.")
def loops_in_spite_of_all():
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


@risky("It waits for something")
def waits_for_itself():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


# What stays.


@risky("Right")
def leaves_a_busy_thread():
    def work():
        while True:
            pass

    threading.Thread(target=work, daemon=True).start()


@risky("leaves a thread running")
def leaves_a_sleeping_thread():
    def sleep():
        time.sleep(20)

    threading.Thread(target=sleep, daemon=True).start()


@risky("leaves a process running; it was ended")
def leaves_a_process():
    subprocess.Popen(["sleep", "600"])


@risky("leaves a process running; it was ended")
def leaves_a_process_with_another():
    subprocess.Popen(["sh", "-c", "sleep 600 & wait"], start_new_session=True)


@risky("leaves a process running; it was ended")
def leaves_a_fork():
    get_context("fork").Process(target=time.sleep, args=(600,), daemon=True).start()


# What is the same before and after.


def state():
    import resource

    from labkit.checks.watch.leftovers import children

    return {
        "processes": len(list(children(os.getpid()))),
        "folder": os.getcwd(),
        "limit": sys.getrecursionlimit(),
        "memory": resource.getrlimit(resource.RLIMIT_DATA),
        "builtins": sorted(f"{name} {id(value)}" for name, value in vars(builtins).items()),
        "json and numpy": [id(sys.modules.get("json")), id(sys.modules.get("numpy"))],
        "alarm": [str(signal.getsignal(signal.SIGALRM)), signal.getitimer(signal.ITIMER_REAL)],
        "streams": [id(sys.stdout), id(sys.stderr), sys.stdout.closed, os.fstat(1).st_ino],
        "profile": [str(sys.getprofile()), str(sys.gettrace()), str(threading.getprofile())],
        "os": [id(os._exit), id(os.kill)],
    }


def main():
    from labkit.checks.judge import check
    from labkit.checks.registry import registered
    from tests.checks.conftest import LINEAR

    for name in sys.argv[1:]:
        answer, _ = RISKY[name]
        said = io.StringIO()
        before = state()
        with registered(LINEAR), contextlib.redirect_stdout(said):
            check(LINEAR.id, answer)
        after = state()
        changed = [what for what in before if before[what] != after[what]]
        words = " ".join(said.getvalue().replace("`", "").split())
        print(json.dumps([name, words, changed]), flush=True)


if __name__ == "__main__":
    main()
