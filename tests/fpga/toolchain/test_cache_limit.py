"""What the room keeps: bounded, and what was used last stays."""

import os
import threading
from pathlib import Path

import pytest

from labkit.fpga.errors import ToolError
from labkit.fpga.toolchain import cache_limit, cpp
from labkit.fpga.toolchain.cached import cached


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    return tmp_path / "fpga"


def add(cache, name, size, hours_ago):
    path = cache / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    then = path.stat().st_mtime - 3600 * hours_ago
    os.utime(path, (then, then))
    return path


def names(cache):
    return sorted(path.name for path in cache.rglob("*") if path.is_file())


def test_what_was_not_used_for_longest_goes_first(cache, monkeypatch):
    monkeypatch.setattr(cache_limit, "MOST_BYTES", 100)
    for hours, name in enumerate(["new.so", "synthesis/young.json", "old.so", "oldest.json"]):
        add(cache, name, 30, hours)
    newest = add(cache, "newest.so", 30, 0)
    cache_limit.make_room(newest)
    assert names(cache) == ["new.so", "newest.so", "young.json"]


def test_a_file_that_is_larger_than_all_stays_alone(cache, monkeypatch):
    monkeypatch.setattr(cache_limit, "MOST_BYTES", 100)
    add(cache, "other.so", 30, 1)
    large = add(cache, "large.so", 300, 0)
    cache_limit.make_room(large)
    assert names(cache) == ["large.so"]


def test_what_is_being_made_is_left_alone(cache, monkeypatch):
    monkeypatch.setattr(cache_limit, "MOST_BYTES", 10)
    add(cache, ".unfinished/skid.so", 30, 5)
    cache_limit.make_room(add(cache, "newest.so", 5, 0))
    assert names(cache) == ["newest.so", "skid.so"]


def test_a_use_of_a_report_or_a_model_counts(cache, monkeypatch):
    def write(path):
        path.write_bytes(bytes(100))

    first = cpp.kept("first.so", ["first"], write)
    cached("kind", ["a"], lambda: {"n": 1})
    (report,) = cache.rglob("*.json")
    second = cpp.kept("second.so", ["second"], write)
    for hours, path in ((3, first), (2, report), (1, second)):
        then = path.stat().st_mtime - 3600 * hours
        os.utime(path, (then, then))
    assert cpp.kept("first.so", ["first"], write) == first
    assert cached("kind", ["a"], lambda: {"n": 2}) == {"n": 1}
    monkeypatch.setattr(cache_limit, "MOST_BYTES", 250 + report.stat().st_size)
    third = cpp.kept("third.so", ["third"], write)
    assert set(names(cache)) == {first.name, report.name, third.name}


def test_reports_are_bounded_too(cache, monkeypatch):
    monkeypatch.setattr(cache_limit, "MOST_BYTES", 1000)
    for number in range(40):
        cached("kind", [number], lambda: {"text": "x" * 100})
    total = sum(path.stat().st_size for path in cache.rglob("*.json"))
    assert 500 < total <= 1000
    assert cached("kind", [39], lambda: {"text": ""}) == {"text": "x" * 100}


def test_a_disk_that_is_full_is_named(cache):
    def write(path):
        raise OSError(28, "No space left on device")

    with pytest.raises(ToolError, match=r"cannot be written to .*No space left.*LABKIT_CACHE"):
        cpp.kept("first.so", ["first"], write)
    assert names(cache) == []


def test_what_other_processes_make_and_remove_meanwhile_does_not_disturb(cache):
    newest = add(cache, "newest.so", 5, 0)
    done = threading.Event()

    def busy():
        while not done.is_set():
            for name in (".unfinished", "kind"):
                Path(cache, name).mkdir()
                Path(cache, name, "a.json").write_text("")
                Path(cache, name, "a.json").unlink()
                Path(cache, name).rmdir()

    other = threading.Thread(target=busy)
    other.start()
    try:
        for _ in range(500):
            cache_limit.make_room(newest)
    finally:
        done.set()
        other.join()
