"""The memory that an answer may take: a share of what is free on the machine or in a container."""

import resource
from pathlib import Path

import numpy as np
import pytest

from labkit.checks.watch import memory
from labkit.checks.watch.memory import free_memory, limited_memory


def now():
    return resource.getrlimit(resource.RLIMIT_DATA)


def test_within_the_limit_all_is_as_before_and_beyond_it_is_an_error(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 1 << 28)
    before = now()
    with limited_memory():
        assert np.ones(1 << 20).sum() == 1 << 20
        with pytest.raises(MemoryError):
            np.zeros(1 << 26)  # 512 MiB
    assert now() == before
    assert len(np.zeros(1 << 26)) == 1 << 26


def test_several_processes_share_what_is_free(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 1 << 40)
    with limited_memory():
        alone = now()[0]
    with limited_memory(1 / 4):
        assert now()[0] < alone / 3


def test_a_limit_that_is_there_already_is_not_raised(monkeypatch):
    before = now()
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 36, before[1]))
    try:
        monkeypatch.setattr(memory, "free_memory", lambda: 1 << 40)
        with limited_memory():
            assert now()[0] == 1 << 36
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def test_where_nobody_says_what_is_free_there_is_no_limit(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 0)
    before = now()
    with limited_memory():
        assert now() == before


MACHINE = {"/proc/meminfo": "MemTotal: 9 kB\nMemAvailable: 4 kB\n"}


@pytest.mark.parametrize(
    ("files", "free"),
    [
        (MACHINE, 4096),
        (MACHINE | {"memory.max": "max\n", "memory.current": "80\n"}, 4096),
        (MACHINE | {"memory.max": "9000\n", "memory.current": "8000\n"}, 1000),
        (MACHINE | {"memory.max": "70\n", "memory.current": "80\n"}, 0),
        ({}, 0),
    ],
    ids=["machine", "no limit", "container", "full container", "nothing"],
)
def test_what_is_free(files, free, monkeypatch):
    def read(path, encoding=None):
        for name, text in files.items():
            if str(path).endswith(name):
                return text
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_text", read)
    assert free_memory() == free
