"""Runs modules of tests in a process of their own; one that dies costs the test it was in."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

TOOLS = Path(__file__).parents[1]
SECONDS = 300  # of a processor, for one test


def records(modules: Mapping[str, set[str]], seconds: int = SECONDS) -> Iterator[dict]:
    """What each test's run wrote down; `modules` has the names, and tests to leave out.

    RuntimeError, with what the process said, when it dies outside of any test.
    """
    left = {module: set(tests) for module, tests in modules.items()}
    while left:
        running, code, said = None, 0, ""
        for line in _lines(left, seconds):
            if "code" in line:
                code, said = line["code"], line["said"]
            elif "end" in line:
                del left[line["module"]]
            elif "begin" in line:
                running = line
            else:
                left[line["module"]].add(line["test"])
                running = None
                yield line
        if running:
            left[running["module"]].add(running["begin"])
            found = {"found": [{"kind": "died", "text": _how(code, seconds)}]}
            yield {"module": running["module"], "test": running["begin"]} | found
        elif left:
            raise RuntimeError(f"The tests' process ended with {code}:\n{said}")


def _lines(modules: dict[str, set[str]], seconds: int) -> Iterator[dict]:
    """What one process writes; at last, {"code": its exit code, "said": its last lines}."""
    reading, writing = os.pipe()
    path = os.pathsep.join([str(TOOLS), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "kernel_tests.runner", str(writing), str(seconds)]
    with tempfile.TemporaryDirectory() as folder, open(Path(folder, "said"), "w+") as said:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            pass_fds=[writing],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": path},
        )
        os.close(writing)
        child.stdin.write(json.dumps([[m, sorted(t)] for m, t in modules.items()]).encode())
        child.stdin.close()
        try:
            with os.fdopen(reading) as lines:
                yield from map(json.loads, lines)
        finally:
            child.kill()  # has ended already, unless nobody wants the rest
            code = child.wait()
        said.seek(0)
        yield {"code": code, "said": "\n".join(said.read().splitlines()[-15:])}


def _how(code: int, seconds: int) -> str:
    if code == -signal.SIGXCPU:
        return f"needs more than {seconds} s of a processor"
    return f"the process ended with {signal.Signals(-code).name if code < 0 else code}"
