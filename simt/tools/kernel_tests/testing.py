"""`numba.cuda.testing` for the SIMT machine: its decorators skip nothing.

A test that is skipped tells nothing about the machine, so only those for Numba's own simulator are.
"""

import unittest
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from numba_simt.execution.target import DEFAULT

GIVEN_A_REASON = """skip_on_cudasim skip_unless_conda_cudatoolkit skip_if_external_memmgr
    skip_under_cuda_memcheck skip_without_nvdisasm skip_with_nvdisasm skip_on_arm skip_on_wsl2
    skip_if_nvjitlink_missing skip_on_nvjitlink_13_1_sm_120"""
GIVEN_A_TEST = """skip_on_standalone_numba_cuda skip_if_cuda_includes_missing
    skip_if_curand_kernel_missing skip_if_cudadevrt_missing skip_unless_cc_50 skip_unless_cc_53
    skip_unless_cc_60 skip_unless_cc_75 skip_unless_cc_90"""


class NotAboutKernels(Exception):
    """What a test asks for is no behaviour of a kernel; the sentence says what it is."""


class ForeignArray:
    """An array of another library: all that is known of it is its interface."""

    def __init__(self, arr: object) -> None:
        self._arr = arr
        self.__cuda_array_interface__ = arr.__cuda_array_interface__


def _inspects(*_: object, **__: object) -> NoReturn:
    raise NotAboutKernels("inspects PTX, LLVM or SASS")


def module(real: ModuleType) -> ModuleType:
    """The module; `real` is numba.cuda."""
    from numba.cuda.tests.support import TestCase

    checks = ("assertFileCheckAsm", "assertFileCheckLLVM", "assertFileCheckMatches")
    body = {"FLOAT16_RTOL": 2.0**-10} | dict.fromkeys(checks, _inspects)
    made = ModuleType("numba.cuda.testing")
    made.CUDATestCase = type("CUDATestCase", (TestCase,), body)
    made.unittest, made.ForeignArray = unittest, ForeignArray
    made.test_data_dir = Path(real.__file__).parent / "tests" / "data"
    for name in GIVEN_A_REASON.split():
        setattr(made, name, lambda reason: lambda test: test)
    for name in GIVEN_A_TEST.split():
        setattr(made, name, lambda test: test)
    made.skip_unless_cudasim = lambda reason: unittest.skip("for Numba's simulator only")
    made.xfail_unless_cudasim = unittest.expectedFailure
    made.cc_X_or_above = lambda major, minor: (major, minor) <= DEFAULT
    made.cudadevrt_missing = lambda: False
    return made


def measure_no_memory(support: ModuleType) -> None:
    """Numba's allocator, whose statistics some tests compare, needs a driver."""
    for name in ("MemoryLeakMixin", "EnableNRTStatsMixin"):
        setattr(support, name, type(name, (), {}))
