"""One schema for every figure that others published: what it is, of what, when, and who says so.

A row has a value, unit, device, clock, date, status and source. What a row does not say itself, its
group says (a machine, a design, a cluster), or its source, or the head of its file: nearest first.

    device   what was measured or sold, in words
    clock    Hz, or "not given"
    date     of the figure: a year, month or day; "not given" in its source; "not read", if we could
             not open the source to look
    status   what kind of figure it is, one of STATUSES
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import labkit
from labkit import hardware
from labkit.distributed.chooser import board
from labkit.fpga.convnet import published as fpga

HOUSE = Path(labkit.__file__).parent
FILES = sorted(
    [*HOUSE.rglob("published*.toml"), HOUSE / "hardware.toml", *HOUSE.rglob("clusters.toml")]
)
STATUSES = {
    *("data sheet", "white paper", "product page", "documentation", "paper", "book"),
    *("table by others", "list price", "measured by its authors", "measured for MLPerf"),
    *("reported by a compiler", "read from the driver", "read from source code"),
    *("described for MLPerf", "an assumption"),
}
DATE = r"20\d\d(-\d\d){0,2}|not given|not read"
NO_ROWS = ("sources", "models")  # sizes of models are no measurements
VALUES = ("value", "bandwidth", "layouts")  # a link's bandwidth; or many figures of one sweep
DEVICES = ("device", "board", "machine", "cluster", "name")  # the nearest of these names it
UNITS = hardware.UNITS | hardware.FORMATS | fpga.UNITS | {"rate": "images/s"}
UNITS |= {"latency": "s", "within": "B/s", "between": "B/s", "efficiency": "of the peak"}


@dataclass(frozen=True)
class Row:
    """A figure with all that its table says of it; None is what it does not say."""

    where: str
    value: object
    unit: str | None
    device: str | None
    clock: float | str | None
    date: str | None
    status: str | None
    source: str | None
    cycles: float | None = None
    seconds: float | None = None


def rows(path: Path) -> list[Row]:
    """All figures of a file."""
    table = tomllib.loads(path.read_text("utf-8"))
    head = {name: entry for name, entry in table.items() if not isinstance(entry, dict)}
    found = []
    for name, groups in table.items():
        if isinstance(groups, dict) and name not in NO_ROWS:
            for key, group in groups.items():
                found += _rows(f"{path.name}: {key}", group, [head], table.get("sources", {}))
    return found


def _rows(where: str, entry: dict, above: list[dict], sources: dict) -> Iterator[Row]:
    """The figures in an entry: itself, if it names a source, and those below it."""
    said = [entry, *above]
    if "fitted" in entry and "source" not in entry:
        return  # computed from another row
    named = [entry["source"]] if "source" in entry else entry.get("sources", [])
    if named:
        for source in named:
            yield _row(where, said, {"source": source} | sources[source])
        return
    for name, below in entry.items():
        if isinstance(below, dict):
            yield from _rows(f"{where}, {name}", below, said, sources)


def _row(where: str, said: list[dict], source: dict) -> Row:
    """One figure, nearest word first; but a device that a source names is more exact than ours."""
    entry, *above = said
    value = next((entry[name] for name in VALUES if name in entry), None)
    name = where.rpartition(", ")[2]
    usual = UNITS.get(name, entry.get("quantity"))
    group = above[0] if above else {}
    return Row(
        where=where,
        value=value,
        unit=entry.get("unit", usual),
        device=source.get("device") or _first(DEVICES, said),
        clock=_first(("clock",), [*said[:-1], source, said[-1]]),
        date=_first(("date",), [*said[:-1], source, said[-1]]),
        status=_first(("status",), [*said[:-1], source, said[-1]]),
        source=f"{source.get('title')}, {source.get('url')}",
        cycles=group.get("cycles", {}).get("value") if "cycles" in group else None,
        seconds=value if name == "latency" else None,
    )


def _first(names: tuple[str, ...], said: list[dict]) -> object:
    """The first of these words that is there, in the nearest table that has one; None if none."""
    for table in said:
        for name in names:
            if name in table:
                return table[name]
    return None


def faults(row: Row) -> list[str]:
    """What a row lacks or gets wrong, a sentence each."""
    found = []
    for name in ("value", "unit", "device", "clock", "date", "status", "source"):
        if getattr(row, name) in (None, ""):
            found.append(f"no {name}")
    if row.date and not re.fullmatch(DATE, row.date):
        found.append(f"{row.date!r} is no date")
    if row.status and row.status not in STATUSES:
        found.append(f"{row.status!r} is no status")
    has_clock = isinstance(row.clock, int | float)
    if not has_clock and row.clock != "not given":
        found.append(f"{row.clock!r} is no clock in Hz")
    timed = has_clock and row.cycles and row.seconds
    if timed and abs(row.cycles / row.clock / row.seconds - 1) > 0.005:  # three digits
        found.append(f"{row.cycles} cycles at {row.clock:g} Hz do not take {row.seconds} s")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_figure_says_of_what_when_and_by_whom(path):
    found = rows(path)
    assert found
    assert {row.where: faults(row) for row in found if faults(row)} == {}


def test_these_are_all_the_files():
    assert [path.name for path in FILES] == [
        *("clusters.toml", "published_scaling.toml", "published.toml", "hardware.toml")
    ]
    counts = {path.name: len(rows(path)) for path in FILES}
    assert counts["hardware.toml"] == sum(
        len(one.peak) + sum(getattr(one, name) is not None for name in hardware.UNITS)
        for one in hardware.machines().values()
    )
    assert counts["published.toml"] >= sum(
        getattr(design, name) is not None
        for design in fpga.DESIGNS.values()
        for name in ("rate", *fpga.UNITS)
    )


FIGURE = Row("x", 1.0, "s", "Pynq-Z1", 100e6, "2018-09", "measured by its authors", "A page")


def test_a_figure_that_says_all_has_no_fault():
    assert faults(FIGURE) == []
    assert faults(replace(FIGURE, clock="not given", date="not read")) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"device": None}, "no device"),
        ({"source": ""}, "no source"),
        ({"date": None}, "no date"),
        ({"date": "last autumn"}, "'last autumn' is no date"),
        ({"clock": None}, "no clock"),
        ({"clock": "fast"}, "'fast' is no clock in Hz"),
        ({"status": "true"}, "'true' is no status"),
    ],
)
def test_a_figure_that_does_not_is_refused(changed, words):
    assert words in faults(replace(FIGURE, **changed))


def test_cycles_and_clock_give_the_time_or_it_is_another_board():
    timed = replace(FIGURE, cycles=board.CYCLES)
    assert faults(replace(timed, seconds=738e-6)) == [], "73,778 cycles at 100 MHz"
    (said,) = faults(replace(timed, seconds=246e-6))
    assert said == "73778 cycles at 1e+08 Hz do not take 0.000246 s", "three times the clock"
    assert faults(replace(timed, seconds=246e-6, clock="not given")) == [], "nobody can tell"


def test_a_file_says_once_what_holds_for_all_of_its_rows(tmp_path):
    path = tmp_path / "published.toml"
    path.write_text(
        'clock = "not given"\n'
        '[sources.page]\ntitle = "A page"\nurl = "https://x"\ndate = "2020"\nstatus = "paper"\n'
        '[designs.one]\nname = "One"\nboard = "Pynq-Z1"\nrate = { value = 5, source = "page" }\n'
        "[designs.two]\n"
        'board = "Pynq-Z2"\nclock = 100e6\ncycles = { value = 1000, source = "page" }\n'
        'latency = { value = 3e-5, source = "page", date = "2021" }\n'
    )
    one, cycles, latency = rows(path)
    assert (one.device, one.clock, one.date, one.unit) == (
        "Pynq-Z1",
        "not given",
        "2020",
        "images/s",
    )
    assert (latency.device, latency.clock, latency.date) == ("Pynq-Z2", 100e6, "2021")
    assert "do not take" in faults(latency)[0] and "no unit" in faults(cycles)
