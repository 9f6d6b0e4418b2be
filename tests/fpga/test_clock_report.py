"""The stored clocks of the course's modules: of today's sources, above 100 MHz, and made again."""

import json

import pytest

from labkit.fpga import clock_report
from labkit.fpga.clock_report import ENOUGH, MODULES, NOT_PLACED, STORED, differences, fresh, stored
from labkit.fpga.errors import RTLError
from labkit.fpga.timing import SEEDS
from tests.night import others_by_night

STORED_ONES = "tests/fpga/test_clock_report.py::test_each_is_of_todays_sources_and_fast_enough"
THERE = sorted(one["module"] for one in json.loads(STORED.read_text("utf-8")))


@pytest.mark.parametrize("module", THERE)
def test_each_is_of_todays_sources_and_fast_enough(module):
    clock = stored(module)
    assert tuple(clock.by_seed) == SEEDS and module in MODULES
    assert float(clock.fmax) == 1e6 * min(clock.by_seed.values())
    assert float(clock.fmax) >= ENOUGH
    assert sum(ns for *_, ns in clock.path) == pytest.approx(1e9 / float(clock.fmax), rel=1e-3)


def test_the_table_is_complete():
    assert sorted({*THERE, *NOT_PLACED}) == sorted(MODULES)
    assert not {*THERE} & {*NOT_PLACED}


AGAIN = ("skid_buffer", "section_router", "requantize", "maxpool2x2")  # half a minute each


@pytest.mark.parametrize("module", others_by_night(AGAIN, STORED_ONES, by_day=0))
def test_a_fresh_clock_is_the_stored_one(module, tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    assert differences(fresh(module)) == []


def test_a_clock_of_other_sources_is_refused(monkeypatch):
    monkeypatch.setattr(clock_report, "digest_of", lambda *given: "of others")
    with pytest.raises(RTLError, match=r"of today's sources.*tools/clock_report\.py skid_buffer"):
        stored("skid_buffer")


def test_what_differs_is_named_and_one_report_replaces_another(tmp_path):
    path = tmp_path / "clocks.json"
    reports = json.loads(STORED.read_text("utf-8"))
    clock_report.write(reports, path)
    assert path.read_bytes() == STORED.read_bytes()
    other = reports[0] | {"mhz": {}}
    assert differences(other, path) == ["mhz"]
    clock_report.write([other], path)
    assert differences(other, path) == []
    assert len(json.loads(path.read_text("utf-8"))) == len(reports)
