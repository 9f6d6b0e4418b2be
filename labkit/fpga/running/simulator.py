"""The process in which compiled designs run: a job comes through stdin, its outcome goes to stdout.

A design can end its process: an index out of bounds is an assertion of the engine. So this is not
the notebook's process, and it needs nothing but ctypes: it starts in a few hundredths of a second.
It ends when stdin does, which is when the notebook's kernel is gone. runs.py is the other side.

The structures mirror driver/streams.h. An array travels as its bytes.
"""

import os
import pickle
import select
from ctypes import CDLL as Library
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int64, c_void_p, cast, string_at
from functools import cache

ENDINGS = ("going on", "finished", "at limit", "oscillates")
SLICE = 1 << 16  # cycles between two looks whether anybody still waits


class Stalls(Structure):
    _fields_ = [("pattern", c_void_p), ("length", c_int64)]


class Offered(Structure):
    _fields_ = [(name, c_int) for name in ("valid", "ready", "data", "last", "words")]
    _fields_ += [
        ("values", c_void_p),
        ("lasts", c_void_p),
        ("count", c_int64),
        ("stalls", Stalls),
    ]


class Taken(Structure):
    _fields_ = [(name, c_int) for name in ("valid", "ready", "data", "last", "words")]
    _fields_ += [("wanted", c_int64), ("stalls", Stalls)]


class Plain(Structure):
    _fields_ = [
        ("port", c_int),
        ("words", c_int),
        ("values", c_void_p),
        ("count", c_int64),
    ]


class Recorded(Structure):
    _fields_ = [("name", c_char_p), ("port", c_int), ("words", c_int)]


ROWS = {
    "offered": Offered,
    "taken": Taken,
    "plain": Plain,
    "recorded": Recorded,
}


class Job(Structure):
    _fields_ = [("model", c_void_p), ("clock", c_int), ("reset", c_int)]
    _fields_ += [(f"{kind}_count", c_int) for kind in ROWS]
    _fields_ += [(kind, POINTER(row)) for kind, row in ROWS.items()]
    _fields_ += [(name, c_int64) for name in ("cycles", "at_least", "quiet", "limit", "rows")]
    _fields_ += [(name, c_int64) for name in ("again_after", "idle")]


class OfferResult(Structure):
    _fields_ = [("count", c_int64), ("valid", c_int), ("ready", c_int)]


class TakeResult(Structure):
    _fields_ = [("count", c_int64), ("valid", c_int), ("ready", c_int)]
    _fields_ += [(name, c_void_p) for name in ("values", "times", "lasts")]


class Violation(Structure):
    _fields_ = [("cycle", c_int64), ("stream", c_int), ("kind", c_int)]


class Result(Structure):
    _fields_ = [(name, c_int64) for name in ("cycles", "last_moved", "violation_count")]
    _fields_ += [("violations", POINTER(Violation)), ("record", c_void_p)]


def main() -> None:
    """Answers jobs until stdin ends; what a design prints goes to stderr."""
    jobs, outcomes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            job = pickle.load(jobs)
        except EOFError:
            return
        pickle.dump(outcome(job, jobs.fileno()), outcomes, 5)
        outcomes.flush()


def outcome(job: dict, asker: int) -> dict:
    """Clocks a design to the end of a job; `asker` becomes readable when nobody waits any more."""
    driver = _driver(job["driver"])
    alive: list = []
    structure = _structure(job, alive)
    run = driver.run_new(byref(structure))
    ending = 0
    while ending == 0:
        ending = driver.run_advance(run, SLICE)
        if select.select([asker], [], [], 0)[0]:
            os._exit(0)
    found = {"ending": ENDINGS[ending], **_result(driver, run, job)}
    found["offers"] = [_offer(driver, run, place) for place in range(len(job["offered"]))]
    found["takes"] = [_take(driver, run, place, row) for place, row in enumerate(job["taken"])]
    driver.run_free(run)
    return found


def _structure(job: dict, alive: list) -> Job:
    """The job as the driver wants it; `alive` gets what it points to."""
    numbers = {name: value for name, value in job.items() if isinstance(value, int)}
    made = Job(model=_model(job["library"]), **numbers)
    for kind, row in ROWS.items():
        array = (row * len(job[kind]))(*(row(**_pointers(one, alive)) for one in job[kind]))
        alive.append(array)
        setattr(made, kind, array)
        setattr(made, f"{kind}_count", len(array))
    return made


def _pointers(row: dict, alive: list) -> dict:
    """The same with an address in the place of an array."""
    made = dict(row)
    for name in {"values", "lasts"} & set(row):
        made[name] = _address(row[name], alive)
    if "stalls" in row:
        made["stalls"] = Stalls(_address(row["stalls"], alive), len(row["stalls"]))
    return made


def _address(data: bytes, alive: list) -> int | None:
    alive.append(data)
    return cast(c_char_p(data), c_void_p).value


def _result(driver: Library, run: int, job: dict) -> dict:
    """Cycles, violations, and the record as a ring."""
    result = Result()
    driver.run_result(run, byref(result))
    seen = [result.violations[place] for place in range(result.violation_count)]
    width = sum(row["words"] for row in job["recorded"])
    return {
        "cycles": result.cycles,
        "last_moved": result.last_moved,
        "violations": [(one.cycle, one.stream, one.kind) for one in seen],
        "record": _bytes(result.record, 4 * width * min(result.cycles, job["rows"])),
    }


def _offer(driver: Library, run: int, place: int) -> dict:
    """How far a stream into the design is."""
    result = OfferResult()
    driver.run_offer(run, place, byref(result))
    return {"count": result.count, "valid": result.valid, "ready": result.ready}


def _take(driver: Library, run: int, place: int, row: dict) -> dict:
    """What a stream out of the design has brought."""
    result = TakeResult()
    driver.run_take(run, place, byref(result))
    count = result.count
    lasts = _bytes(result.lasts, count) if row["last"] >= 0 else b""
    values, times = _bytes(result.values, 4 * row["words"] * count), _bytes(result.times, 8 * count)
    return {"count": count, "values": values, "times": times, "lasts": lasts}


def _bytes(address: int | None, size: int) -> bytes:
    return string_at(address, size) if size else b""


@cache
def _model(path: str) -> int:
    """The table of a design's functions."""
    give = Library(path).model
    give.restype = c_void_p
    return give()


@cache
def _driver(path: str) -> Library:
    library = Library(path)
    library.run_new.restype = c_void_p
    library.run_free.argtypes = [c_void_p]
    library.run_advance.argtypes = [c_void_p, c_int64]
    library.run_result.argtypes = [c_void_p, POINTER(Result)]
    library.run_offer.argtypes = [c_void_p, c_int, POINTER(OfferResult)]
    library.run_take.argtypes = [c_void_p, c_int, POINTER(TakeResult)]
    return library


if __name__ == "__main__":
    main()
