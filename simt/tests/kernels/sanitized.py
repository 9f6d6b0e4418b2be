"""Runs every kernel that the tests have, plain and watched, and the tests of bad inputs.

`python -m kernels.sanitized`, in a process whose machine was compiled with a sanitizer: see
test_sanitizer.py. The exit code is that of the tests.
"""

import sys
from contextlib import suppress
from pathlib import Path

import pytest

from kernels.correct import CORRECT
from kernels.faulty import FAULTY
from numba_simt import profile
from numba_simt.errors import KernelError

MACHINE = Path(__file__).parents[1] / "machine"
TESTS = (
    *("test_ops.py", "test_bad_inputs.py", "test_semantics.py", "test_signatures.py"),
    *("constructs/test_records.py", "constructs/test_shapes.py", "constructs/test_cooperative.py"),
    *("constructs/test_chosen_arrays.py", "constructs/test_exceptions.py"),
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
    # Left out: tests that count the instructions until a launch is stopped; it is sooner here.
    options = ["-q", "-p", "no:cacheprovider", "-k", "not wait"]
    sys.exit(pytest.main([*options, *(str(MACHINE / name) for name in TESTS)]))
