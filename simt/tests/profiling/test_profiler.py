"""`profile`: counts in the right lines and columns, hazards first, nothing made up."""

import re
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from numba_simt import cuda, ops, profile
from numba_simt.errors import UsageError
from numba_simt.profiling.counters import COUNTERS, derive
from numba_simt.profiling.profiler import _profile

UNIQUE = {"unique_load_sectors": 8, "unique_store_sectors": 4}


def scale(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


FIRST = scale.__code__.co_firstlineno
FILE = scale.__code__.co_filename


class Hazard(SimpleNamespace):
    kind = "uninitialised"

    def __str__(self):
        return self.sentence


def outcome(lines, hazards=(), completed=True, **total):
    by_line = {key if isinstance(key, tuple) else (FILE, key): n for key, n in lines.items()}
    for counts in by_line.values():
        for name, n in counts.items():
            total[name] = total.get(name, 0) + n
    return SimpleNamespace(
        by_line=by_line, counters=total, hazards=hazards, accesses=(), completed=completed
    )


BUSY = {"global_load_requests": 2, "global_load_sectors": 9, "instructions": 4, "lanes": 96}


def test_the_table_has_every_counter_of_the_machine_and_says_what_it_is():
    machine = {*ops.COUNTERS, "unique_load_sectors", "unique_store_sectors"}
    assert machine <= set(COUNTERS)
    assert set(derive(UNIQUE)) == set(COUNTERS)
    for name, counter in COUNTERS.items():
        assert counter.sentence.endswith("."), name
        assert bool(counter.nsight) != bool(counter.why), name
        assert counter.unit or name == "active_lane_ratio"


def test_nsight_metrics_have_the_form_of_nsight_metrics():
    metric = r"(smsp|l1tex)__[\w{}, ]+\.(sum|ratio)( / 32)?"
    for name, counter in COUNTERS.items():
        assert counter.nsight is None or re.fullmatch(metric, counter.nsight), name
    loads = COUNTERS["global_load_sectors"].nsight
    assert loads == "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    assert COUNTERS["flops_fp32"].unit == "FLOP"


def test_derived_counters_follow_their_formulas():
    n = derive(
        {
            "instructions": 10,
            "lanes": 80,
            "flops_fp16": 1,
            "flops_fp32": 60,
            "flops_fp64": 3,
            "global_load_requests": 4,
            "global_load_sectors": 8,
            "global_load_bytes": 100,
            "global_store_bytes": 28,
            "shared_load_bytes": 5,
            "shared_store_bytes": 6,
            "shared_load_conflicts": 7,
            "shared_store_conflicts": 9,
        }
        | UNIQUE
    )
    assert n["active_lane_ratio"] == 0.25
    assert (n["flops"], n["traffic_bytes"], n["arithmetic_intensity"]) == (64, 256, 0.25)
    assert (n["global_bytes"], n["shared_bytes"], n["bank_conflicts"]) == (128, 11, 16)
    assert n["global_load_sectors_per_request"] == 2
    assert n["global_store_sectors_per_request"] == 0  # no request
    assert n["compulsory_bytes"] == 32 * 12


def test_without_traffic_the_intensity_is_infinite_and_lines_have_no_unique_sectors():
    line = derive({"flops_fp32": 1})
    assert line["arithmetic_intensity"] == inf
    assert "unique_load_sectors" not in line
    assert "compulsory_bytes" not in line


def test_by_line_has_the_kernels_lines_and_only_those_that_executed():
    p = _profile(scale, outcome({FIRST + 3: BUSY, ("elsewhere.py", 5): BUSY}, **UNIQUE))
    assert set(p.by_line) == {FIRST + 3}
    assert p.by_line[FIRST + 3]["global_load_sectors_per_request"] == 4.5
    assert p.counters["global_load_sectors"] == 18
    assert [line for line, *_ in p.source] == [*range(FIRST, FIRST + 4), 5]
    assert p.source[3][1].strip() == "y[i] = 2 * x[i]"


def test_text_puts_numbers_beside_their_line_and_says_counted_once():
    p = _profile(scale, outcome({FIRST + 3: BUSY}, **UNIQUE))
    text = str(p)
    head, *lines = text.splitlines()
    assert head == "scale: counted by the SIMT machine"
    assert text.count("counted") == 1 + text.count("counted once")
    assert lines[0].split() == ["requests", "sectors", "per", "req", "active"]  # no empty column
    row = next(line for line in lines if "y[i]" in line)
    assert row.split()[0] == str(FIRST + 3)
    assert row.split()[-5:] == ["2", "9", "4.5", "75", "%"]
    assert "288 B in sectors, 384 B if each is counted once" in text
    assert "No hazard found." in text
    assert repr(p) == text


def test_atomics_have_a_column_where_there_are_any():
    p = _profile(scale, outcome({FIRST + 3: BUSY | {"atomic_lanes": 64}}, **UNIQUE))
    head, row = (line.split() for line in (str(p).splitlines()[i] for i in (1, 5)))
    assert head == ["requests", "sectors", "per", "req", "atomic", "active"]
    assert row[-6:] == ["2", "9", "4.5", "64", "75", "%"]


def test_no_line_of_the_text_is_wider_than_100_and_no_number_is_lost():
    def kernel(x):
        x[0] = (((((((((((1 + 2) + 3) + 4) + 5) + 6) + 7) + 8) + 9) + 10) + 11) + 12) + x[1] + 13

    counts = dict.fromkeys(ops.COUNTERS, 123_456) | {"instructions": 9_999_999, "lanes": 99_999_999}
    line = kernel.__code__.co_firstlineno + 1
    long = Hazard(severity="error", sentence="x " * 150)
    text = str(_profile(kernel, outcome({line: counts}, [long], **UNIQUE)))
    assert max(map(len, text.splitlines())) <= 100
    below = text.splitlines()[4].split()  # the source line is too long to have them beside it
    assert below[:2] == ["246,912", "246,912"]
    assert below[-3:] == ["370,368", "31.3", "%"]


def test_hazards_come_races_first_then_other_errors():
    note, error, race = (
        Hazard(severity="note", sentence="a note"),
        Hazard(severity="error", sentence="an error"),
        Hazard(severity="error", sentence="a race", kind="race", scope="warp"),
    )
    p = _profile(scale, outcome({}, [note, error, race], completed=False))
    assert [str(h) for h in p.hazards] == ["a race", "an error", "a note"]
    assert not p.completed
    assert str(p).splitlines()[-4:] == [
        "The kernel was stopped: no array was changed.",
        "a race",
        "an error",
        "a note",
    ]


def test_html_is_escaped_has_bars_and_sets_no_text_colour():
    p = _profile(
        scale, outcome({FIRST + 3: BUSY}, [Hazard(severity="error", sentence="a < b")], **UNIQUE)
    )
    html = p._repr_html_()
    assert "if i &lt; x.size" in html
    assert "a &lt; b" in html
    assert "100%, transparent" in html
    assert set(re.findall(r"(?<!-)color: *([^;\"]+)", html)) == {"inherit"}
    assert "http" not in html
    assert html.count("<tr>") == html.count("</tr>") == 4 + 2
    assert {row.count("<td") for row in html.split("<tr>")[1:]} == {2 + 4}
    assert html.count("counted by the SIMT machine") == 1


def test_profile_wants_a_kernel():
    with pytest.raises(TypeError, match=r"under @cuda\.jit"):
        profile(scale, 1, 32, np.zeros(3), np.zeros(3))


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


SAXPY = saxpy.py_func.__code__.co_firstlineno + 4  # the line with the arithmetic


def test_saxpy_is_counted_exactly_and_its_results_are_stored():
    n, (x, y) = 1000, np.random.default_rng(0).random((2, 1000), dtype=np.float32)
    expected = np.float32(2) * x + y
    p = profile(saxpy, 4, 256, np.float32(2), x, y)
    assert np.allclose(y, expected)
    assert (p.completed, p.hazards) == (True, [])
    assert (p.counters["flops"], p.counters["flops_fp32"]) == (2 * n, 2 * n)
    assert p.counters["global_bytes"] == 3 * 4 * n
    assert p.counters["traffic_bytes"] == p.counters["compulsory_bytes"] == 3 * 4 * n
    assert p.counters["arithmetic_intensity"] == 2 / 12
    line = p.by_line[SAXPY]
    warps = 32  # of 32, the last one with 1000 - 31 * 32 = 8 lanes
    assert (line["global_load_requests"], line["global_store_requests"]) == (2 * warps, warps)
    assert (line["global_load_sectors"], line["global_store_sectors"]) == (250, 125)


def test_every_total_is_the_sum_of_its_lines():
    p = profile(saxpy, 3, 64, np.float32(2), *np.zeros((2, 150), np.float32))
    for name in ops.COUNTERS:
        assert p.counters[name] == sum(n[name] for n in p.by_line.values()), name


def test_a_stopped_kernel_leaves_the_arrays_untouched():
    @cuda.jit
    def beyond(x):
        x[cuda.grid(1)] = 1

    x = np.zeros(40, np.float32)
    p = profile(beyond, 2, 32, x)
    assert not p.completed
    assert [h.kind for h in p.hazards] == ["out_of_bounds"]
    assert not x.any()
    assert "no array was changed" in str(p)


def test_a_kernel_of_numba_cuda_runs_here_and_its_device_arrays_are_filled():
    device_array = type(
        "DeviceNDArray",
        (),
        {
            "__module__": "numba.cuda.cudadrv.devicearray",
            "__init__": lambda self, host: setattr(self, "host", host),
            "copy_to_host": lambda self: self.host.copy(),
            "copy_to_device": lambda self, host: setattr(self, "host", host.copy()),
        },
    )
    x, y = np.arange(8, dtype=np.float32), device_array(np.ones(8, np.float32))
    kernel = SimpleNamespace(py_func=saxpy.py_func)  # as numba.cuda's dispatcher has it
    assert profile(kernel, 1, 32, np.float32(3), x, y).completed
    assert np.array_equal(y.host, 3 * x + 1)


def test_device_arrays_dynamic_shared_memory_and_device_functions():
    @cuda.jit(device=True)
    def twice(v):
        return v + v

    @cuda.jit
    def reverse(x):
        buffer = cuda.shared.array(0, np.float32)
        i = cuda.threadIdx.x
        buffer[i] = x[i]
        cuda.syncthreads()
        x[i] = twice(buffer[31 - i])

    x = cuda.to_device(np.arange(32, dtype=np.float32))
    p = profile(reverse, 1, 32, x, shared=128)
    assert np.array_equal(x.copy_to_host(), 2 * np.arange(31, -1, -1))
    assert p.counters["shared_bytes"] == 256
    elsewhere = p.source[-1]  # the line of the device function, outside the kernel's own
    assert elsewhere[1].strip() == "return v + v"
    assert elsewhere[2]["flops"] == 32
    assert p.by_line[elsewhere[0]]["flops"] == 32


def test_what_a_launch_refuses_profile_refuses():
    with pytest.raises(UsageError, match="1,056 threads"):
        profile(saxpy, 1, (32, 33), 1.0, np.zeros(3), np.zeros(3))


def test_two_profiles_of_one_launch_are_the_same():
    arrays = np.ones((2, 100), np.float32)
    first, second = (profile(saxpy, 2, 64, np.float32(0), *arrays) for _ in range(2))
    assert str(first) == str(second)
    assert first._repr_html_() == second._repr_html_()
