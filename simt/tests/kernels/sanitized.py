"""Runs every kernel that the tests have, plain and watched, and the tests of bad inputs.

`python -m kernels.sanitized`, in a process whose machine was compiled with a sanitizer: see
test_sanitizer.py. The exit code is that of the tests.
"""

import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from kernels.correct import CORRECT
from kernels.cured import PAIRS
from kernels.faulty import FAULTY
from numba_simt import profile
from numba_simt.errors import KernelError

HERE = Path(__file__).parents[1]
TESTS = (
    *(f"machine/test_{name}.py" for name in ("ops", "bad_inputs", "semantics", "signatures")),
    *("machine/constructs/test_records.py", "machine/constructs/test_shapes.py"),
    *("machine/constructs/test_cooperative.py", "machine/constructs/test_chosen_arrays.py"),
    *("machine/constructs/test_exceptions.py", "profiling/test_waiting.py"),
)


def run(case: object) -> None:
    for launch in (
        case.launch,
        lambda a: profile(case.kernel, case.grid, case.block, *a, shared=case.shared),
    ):
        with suppress(KernelError):  # faulty kernels are stopped
            launch(case.fresh(0))


if __name__ == "__main__":
    for case in (*CORRECT.values(), *FAULTY.values()):
        run(case)
    for pair in PAIRS.values():
        arguments = pair.arguments(np.random.default_rng(0))
        for kernel in (pair.kernel, *pair.twins):
            profile(kernel, pair.grid, pair.block, *arguments)
    # Left out: tests that count the instructions until a launch is stopped; it is sooner here.
    options = ["-q", "-p", "no:cacheprovider", "-k", "not waiting_in_vain"]
    sys.exit(pytest.main([*options, *(str(HERE / name) for name in TESTS)]))
