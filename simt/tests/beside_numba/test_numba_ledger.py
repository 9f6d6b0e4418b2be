"""Numba's own kernel tests agree with the ledger, and their harness sees what is wrong.

tools/numba_tests.py runs all of them; here all but three slow ones run.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import pytest
from kernel_tests import ledger as ledgers
from kernel_tests.children import records
from kernel_tests.judge import FORBIDDEN, OTHER, PASSED, REFUSED, judge

SIMT = Path(__file__).parents[2]

LEDGER = ledgers.read(Path(__file__).with_name("numba_ledger.toml"))
needs_numba_cuda = pytest.mark.skipif(
    not find_spec("numba_cuda") or os.name == "nt", reason="needs numba-cuda, on Linux"
)
# Modules whose tests are not run one by one. Whoever adds one hides its kernels.
ASIDE = """bfloat16_bindings byteflow caching cffi compiler copy_propagate cupy_bfloat16_interop
    debug debuginfo debuginfo_types fp8_bindings gufunc_scheduling inspect ipc ir ir_utils
    launch_config_sensitive lineinfo multigpu multiprocessing multithreads serialize tracing
    typeconv typeinfer warning"""
SLOW = "test_issue_9229 test_laplace_small test_cuda_matmul"


def test_the_ledger_says_that_as_many_tests_pass_as_ever():
    assert LEDGER.counts()[PASSED] >= 491
    assert not LEDGER.counts().keys() & FORBIDDEN.keys()


def test_no_module_about_kernels_is_set_aside_and_few_failures_are_excused():
    assert set(LEDGER.modules) <= {f"cudapy.test_{name}" for name in ASIDE.split()}
    assert len(LEDGER.excuses) <= 2
    assert {name.rpartition(".")[2] for name in LEDGER.slow} == set(SLOW.split())
    assert all(LEDGER.tests[name].status == PASSED for name in LEDGER.slow)


def test_every_test_that_did_not_pass_has_a_reason():
    reasons = {verdict.reason for verdict in LEDGER.tests.values() if verdict.status != PASSED}
    assert "" not in reasons
    assert not [reason for reason in reasons if reason.startswith("unnamed")]


@pytest.mark.night(
    instead="simt/tests/beside_numba/test_against_simulator.py::test_correct_kernels"
)
@needs_numba_cuda
def test_numbas_tests_agree_with_the_ledger():
    command = [sys.executable, "tools/numba_tests.py", "--quick"]
    done = subprocess.run(command, cwd=SIMT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


OWN = """
    import os
    import unittest
    import numpy as np
    from numba import cuda
    from numba.core.errors import TypingError
    from numba.cuda.testing import CUDATestCase, skip_on_cudasim, skip_unless_cc_75
    from numba.cuda import vectorize

    @cuda.jit
    def double(x):
        x[cuda.grid(1)] *= 2

    @cuda.jit
    def shows(x):
        print(x[0])

    def launched(kernel=double):
        x = np.ones(4)
        kernel[1, 4](x)
        return x

    @skip_on_cudasim("not for Numba's simulator")
    class Test(CUDATestCase):
        def test_right(self):
            np.testing.assert_equal(launched(), 2)

        def test_wrong(self):
            np.testing.assert_equal(launched(), 3)

        @skip_unless_cc_75
        def test_wrong_in_a_decorator(self):
            self.assertEqual(launched()[0], 3)

        def test_wrong_in_one_of_the_subtests(self):
            for expected in (2, 3, 2):
                with self.subTest(expected=expected):
                    self.assertEqual(launched()[0], expected)

        def test_wrong_beside_a_refusal(self):
            for kernel, expected in ((shows, 1), (double, 3)):
                with self.subTest(kernel=kernel):
                    self.assertEqual(launched(kernel)[0], expected)

        def test_wrong_between_a_refusal_and_its_words(self):
            with self.assertRaises(TypingError) as raised:
                launched(shows)
            words = str(raised.exception)
            self.assertEqual(launched()[0], 3)
            self.assertRegex(words, "words of Numba")

        def test_wrong_after_a_refusal_was_expected(self):
            with self.assertRaises(TypingError) as raised:
                launched(shows)
            self.assertIn("words of Numba", str(raised.exception))
            self.assertEqual(launched()[0], 3)

        @unittest.expectedFailure
        def test_lenient_where_numba_fails(self):
            self.assertEqual(launched()[0], 2)

        def test_lenient(self):
            with self.assertRaises(TypingError):
                launched()

        def test_lenient_by_a_call(self):
            self.assertRaisesRegex(TypingError, "words", launched)

        def test_refused_as_numba_refuses(self):
            with self.assertRaisesRegex(TypingError, "words of Numba") as raised:
                launched(shows)
            self.assertTrue("more words" in str(raised.exception))

        def test_refused(self):
            launched(shows)

        def test_refused_name(self):
            cuda.vectorize

        def test_refused_import(self):
            vectorize(lambda x: x, target="cuda")

        def test_unclear(self):
            double + 1

        def test_absent_attribute_of_a_kernel(self):
            with self.assertRaises(RuntimeError):
                double.inspect_asm()

        def test_checked_and_then_looked_at(self):
            self.assertEqual(launched()[0], 2)
            double.inspect_asm()

        def test_crash(self):
            os.abort()

        def test_endless(self):
            while True:
                pass

        def test_skipped(self):
            self.skipTest("today")

        def test_uses_nothing(self):
            self.assertEqual(1 + 1, 2)

    def test_text():
        scope = {"cuda": cuda}
        exec("def triple(x):\\n    x[cuda.grid(1)] *= 3", scope)
        assert launched(cuda.jit(scope["triple"]))[0] == 3
"""


@pytest.mark.night(
    instead="simt/tests/beside_numba/test_numba_ledger.py::test_an_excuse_holds_for_its_failure_only"
)
@needs_numba_cuda
def test_the_harness_sees_what_is_wrong(tmp_path, monkeypatch):
    (tmp_path / "own_tests.py").write_text(dedent(OWN))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    found = {r["test"].removeprefix("Test.test_"): judge(r) for r in records({"own_tests": ()}, 2)}
    statuses = {name: verdict.status for name, verdict in found.items()}
    for word in ("wrong", "lenient", "crash", "endless", "unclear"):
        expected = "CRASH" if word == "endless" else word.upper()
        names = [name for name in statuses if name.startswith(word)]
        assert names
        assert {name: statuses.pop(name) for name in names} == dict.fromkeys(names, expected)
    assert statuses == {
        "right": PASSED,
        "refused_as_numba_refuses": PASSED,
        "refused": REFUSED,
        "refused_name": REFUSED,
        "refused_import": REFUSED,
        "absent_attribute_of_a_kernel": OTHER,
        "checked_and_then_looked_at": PASSED,
        "skipped": OTHER,
        "uses_nothing": OTHER,
        "test_text": PASSED,
    }
    assert found["refused"].reason == "print in kernels"
    assert found["skipped"].reason == "skipped: today"
    assert "2 s" in found["endless"].text


def test_an_excuse_holds_for_its_failure_only():
    ledger = ledgers.Ledger(excuses={"a.b.c": {"reason": "about text", "failure": "1 != 2"}})
    failed = {"kind": "error", "classes": ["AssertionError"], "text": "1 != 2"}
    assert ledger.excused("a.b.c", judge({"found": [failed]})).status == OTHER
    assert ledger.excused("a.b.d", judge({"found": [failed]})).status == "WRONG"
    failed["text"] = "1 != 3"
    assert ledger.excused("a.b.c", judge({"found": [failed]})).status == "WRONG"


def test_a_ledger_is_read_as_it_was_written_without_what_is_forbidden(tmp_path):
    names = [f"cudapy.test_sm.TestA.test_{i}" for i in range(40)] + ["doc_examples.test_x.test_y"]
    tests = {name: ledgers.Verdict(PASSED) for name in names}
    tests["cudapy.test_sm.TestB.test_z"] = ledgers.Verdict(REFUSED, "print in kernels")
    tests["cudapy.test_sm.TestB.test_w"] = ledgers.Verdict(OTHER, "asks the compiler alone")
    excuses = {"a.b.c": {"reason": "about text", "failure": "1 != 2"}}
    ledger = ledgers.Ledger("1.2", {"cudapy.test_ir": "no kernels"}, {"a.b.d": "1 min"}, excuses)
    ledger.tests = tests | {"cudapy.test_sm.TestB.test_v": ledgers.Verdict("WRONG", "", "1 != 2")}
    path = tmp_path / "ledger.toml"
    ledgers.write(path, ledger)
    ledger.tests = tests
    assert ledgers.read(path) == ledger
    assert max(map(len, path.read_text().splitlines())) <= 100
