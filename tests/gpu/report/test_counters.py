"""Counters of two machines: an `ncu` that counts by hand, and one that fails in every way."""

import math
import re
import shutil

import numpy as np
import pytest
from numba import float32

from labkit.gpu.report import timing
from labkit.gpu.report.rows import NotHere, once
from labkit.gpu.report.sections import (
    counted_kernels,
    counters,
    handed_in,
    launches,
    nsight,
    planted,
)
from labkit.gpu.report.tasks import Bench
from numba_simt.profiling.counters import COUNTERS
from tests.gpu.report import fakes
from tests.gpu.report.fakes import BY_HAND, metric

BENCH = Bench(timing.Host(), dry=True)
ALL = len(counters.COMPARED)


@pytest.fixture(scope="module")
def machine():
    """Row -> counters of the SIMT machine."""
    return {name: counters.of_the_machine(case) for name, case in counted_kernels.cases().items()}


def stand_in(folder, monkeypatch, script):
    """`ncu` is this script."""
    fakes.program(folder, "ncu", script)
    monkeypatch.setenv("PATH", fakes.on_the_path(folder))
    nsight.ask.cache_clear()


@pytest.fixture
def ncu(tmp_path, monkeypatch, machine):
    """ncu(change, unknown): rows of the section, under an `ncu` that writes as the real one."""

    def rows(change=lambda rows: rows, unknown="none_such"):
        fakes.ncu(tmp_path, machine, change, unknown)
        monkeypatch.setenv("PATH", fakes.on_the_path(tmp_path))
        nsight.ask.cache_clear()
        monkeypatch.setattr(counters, "of_the_machine", lambda case: by_case[id(case)])
        found = {}
        cases = counted_kernels.cases()
        monkeypatch.setattr(counters, "cases", lambda: cases)
        by_case = {id(case): machine[name] for name, case in cases.items()}
        for name, work in counters.work(BENCH, {}):
            found[name] = work()
        return found

    return rows


def test_ten_kernels_are_compared():
    assert len(counted_kernels.cases()) >= 10


def test_counters_equal_those_of_a_gpu_counted_by_hand(ncu, monkeypatch):
    monkeypatch.setenv("LAUNCH", "yes")  # the program that ncu watches runs, on the SIMT machine
    found = ncu()
    for name in counted_kernels.cases():
        assert found[name].ok is True, found[name].says
        assert found[name].says == f"{ALL} of {ALL} counters are equal"


def test_a_counter_that_differs_is_told_and_one_may_differ_by_a_rule(ncu):
    def changed(rows):
        sectors = metric("global_load_sectors")
        reads = metric("shared_load_requests")
        rows = [[i, m, "1,564" if (i, m) == ("0", sectors) else n] for i, m, n in rows]
        return [[i, m, "57,600" if m == reads and n == "92,160" else n] for i, m, n in rows]

    found = ncu(changed)
    assert found["shifted copy"].ok is False and float(found["shifted copy"].numbers["result"]) == 1
    said = "not explained: global_load_sectors 1,563, on the GPU 1,564"
    assert f"{ALL - 1} of {ALL} counters are equal. {said}" == found["shifted copy"].says
    assert found["tiled matmul"].ok is True and counters.MERGED in found["tiled matmul"].says
    assert "shared_load_requests 92,160, on the GPU 57,600" in found["tiled matmul"].says
    assert all(row.ok is not False for name, row in found.items() if name != "shifted copy")


def test_a_rule_holds_only_in_its_bounds():
    reads = "shared_load_requests"
    assert counters.rule_for("tiled matmul", reads, 64, 40) == counters.MERGED
    assert counters.rule_for("tiled matmul", reads, 64, 39) == ""
    assert counters.rule_for("tiled matmul", reads, 64, 65) == ""
    assert counters.rule_for("transpose", reads, 64, 40) == ""
    assert counters.rule_for("matmul in registers", "local_loads", 64, 0) == counters.REGISTERS
    assert counters.rule_for("matmul in registers", "local_loads", 64, 1) == ""


def test_metrics_that_ncu_cannot_read_are_left_out_and_named(ncu):
    unknown = metric("shared_load_conflicts")
    hidden = metric("global_load_bytes")

    def change(rows):
        return [[i, m, "n/a" if m == hidden else n] for i, m, n in rows if m != unknown]

    for name, row in ncu(change, unknown).items():
        if name in counted_kernels.cases():
            assert row.ok is True
            both = "global_load_bytes, shared_load_conflicts"
            assert row.says.endswith(f"not read by this ncu: {both}"), row.says


def test_the_lessons_counts_stand_beside_the_gpus(ncu):
    found = ncu()
    passes = found["passes of a multiply-add, tiled matmul"]
    assert [float(n) for n in passes.numbers.values()] == [2.0, 2.0] and passes.lesson == "tiles"
    assert passes.says == "the lesson's count is close"
    patches = found["passes of a multiply-add, matmul in registers"]
    assert float(patches.numbers["in the lesson"]) == 0.625
    traffic = found["traffic of the direct convolution"]
    assert traffic.lesson == "convolution_kernels"
    least = float(traffic.numbers["perfect cache"]) / 1024
    said = f"DRAM is {least:.2f} times less than a perfect cache would need"
    assert traffic.says == f"L2 to L1 lies between the two counts; {said}"


def test_where_ncu_reads_nothing_the_rows_are_not_there(ncu):
    with pytest.raises(NotHere, match="reads none"):
        ncu(lambda rows: [[i, metric, "n/a"] for i, metric, _ in rows])


def test_where_ncu_knows_no_metric_the_rows_are_not_there(tmp_path, monkeypatch):
    script = """#!/bin/sh
    for word; do case "$word" in *.sum*) metrics=$(echo "$word" | tr , ' ') ;; esac; done
    for metric in $metrics; do echo "==ERROR== Failed to find metric $metric"; done
    exit 9"""
    stand_in(tmp_path, monkeypatch, script)
    with pytest.raises(NotHere, match="reads none"):
        compare_one()


def compare_one():
    """The first row."""
    _, work = next(iter(counters.work(BENCH, {})))
    return work()


def test_numbers_of_ncu_are_read_whole_or_not_at_all():
    read = nsight.number
    for text, value in (("1.2e+06", 1.2e6), ("1,234,567", 1234567), ("40.50", 40.5), ("0", 0)):
        assert read(text) == value
    for text in ("n/a", "", "1.234,5", "1.234.567", "12,34", "-", "1e", "inf", "nan", "0x1F"):
        assert math.isnan(read(text)), text


def test_numbers_with_exponents_are_read_whatever_the_users_language(ncu, monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")

    def exponents(rows):
        return [[i, metric, f"{int(n.replace(',', '')):.6e}"] for i, metric, n in rows]

    found = ncu(exponents)
    small = [name for name in counted_kernels.cases() if name in BY_HAND]
    assert all(found[name].ok for name in small)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo '==ERROR== no permission'; exit 1", "no table: .*no permission"),
        ("", "no table"),
        ("echo said on the error channel >&2", "no table: said on"),
        ('echo \'"ID","Metric Name","Metric Value"\'', "no table"),
        ('printf \'"ID","Metric Name","Metric Value"\\n"0","m","1"\\n\'', "no table"),
    ],
)
def test_an_ncu_that_gives_no_table_fails_with_its_words(tmp_path, monkeypatch, script, said):
    stand_in(tmp_path, monkeypatch, f"#!/bin/sh\n{script}\n")
    with pytest.raises(RuntimeError, match=said):
        compare_one()


def test_a_table_of_an_ncu_that_failed_is_not_read(ncu, monkeypatch):
    monkeypatch.setenv("STATUS", "3")
    with pytest.raises(RuntimeError, match="no table"):
        ncu()


def test_an_ncu_that_may_not_read_counters_is_told_so(tmp_path, monkeypatch):
    script = "#!/bin/sh\necho '==ERROR== ERR_NVGPUCTRPERM - no permission'; exit 1\n"
    stand_in(tmp_path, monkeypatch, script)
    with pytest.raises(NotHere, match="may not read"):
        compare_one()


def test_without_ncu_the_rows_are_not_there(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    nsight.ask.cache_clear()
    with pytest.raises(NotHere, match="ncu is not here"):
        compare_one()


def test_an_ncu_that_fails_is_asked_once():
    asked = []

    def fails():
        asked.append(1)
        raise RuntimeError("no")

    again = once(fails)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="no"):
            again()
    assert len(asked) == 1


def test_a_formula_of_metrics_is_taken_apart():
    sass = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum".format
    assert nsight.terms("flops_fp32") == [(1, sass("fadd")), (1, sass("fmul")), (2, sass("ffma"))]
    both = nsight.terms("traffic_bytes")
    assert both == [(1, f"l1tex__t_bytes_pipe_lsu_mem_global_op_{w}.sum") for w in ("ld", "st")]
    assert COUNTERS.keys() >= {*counters.COMPARED}
    assert all(re.fullmatch(r"[\w.]+", metric) for metric in counters.metrics())


def test_a_compiler_makes_of_these_kernels_what_the_source_says():
    """One load and one store of each kind, and fused arithmetic: no reason to differ."""
    pytest.importorskip("numba_cuda")
    from labkit.gpu import compile_report

    shared = {"ld.shared": 1, "st.shared": 1}
    for name in BY_HAND:
        case = counted_kernels.cases()[name]
        array = float32[:, ::1] if case.right.ndim == 2 else float32[::1]
        found = compile_report(case.kernel, (array, array), "sm_90")
        expected = {"ld.global": 1, "st.global": 1} | (shared if "transpose" in name else {})
        assert found.accesses == expected and found.fma == 2 * (name == "polynomial"), name


@pytest.mark.night(
    instead="tests/gpu/report/test_counters.py::test_a_compiler_makes_of_these_kernels_what_the_source_says"
)
def test_a_compiler_takes_every_kernel_that_a_report_shows():
    """Numba's compiler for a GPU refuses more than the SIMT machine."""
    pytest.importorskip("numba_cuda")
    from labkit.gpu import compile_report

    x = np.zeros((4, 4), np.float32)
    shown = [
        (handed_in.handed_in_row_max, (x, x[0])),
        (handed_in.handed_in_bias_gradient, (x, x[0])),
    ]
    shown += [(handed_in.handed_in_gelu, (x[0], x[1])), (handed_in.make(64), (x, x))]
    shown += [(launches.nothing, (x[0],))]
    shown += [(one.kernel, one.arguments()) for one in planted.PLANTED]
    cases = counted_kernels.cases().values()
    shown += [(case.kernel, (*case.arguments, case.output())) for case in cases]
    for kernel, arguments in shown:
        found = compile_report(kernel, arguments, "sm_90")
        assert found.spills == 0, kernel.py_func.__name__


def test_what_ncu_watches_is_right(monkeypatch):
    """The same launches on the SIMT machine; a kernel that is wrong stops them."""
    counted_kernels.launch()
    case = counted_kernels.cases()["polynomial"]
    wrong = case._replace(right=case.right + 1)
    monkeypatch.setattr(counted_kernels, "cases", lambda: {"wrong": wrong})
    with pytest.raises(SystemExit, match="wrong"):
        counted_kernels.launch()
