"""What the tests of the fourth machine share."""

import secrets
from collections.abc import Iterator

import pytest

from labkit.distributed.links import hosts


def namespaces() -> list[str]:
    """The names of all network namespaces of this system."""
    return hosts._call("ip", "netns", "list").split()


@pytest.fixture
def nothing_left(monkeypatch) -> Iterator[None]:
    """No namespace of hosts that this test has made is left; other tests may make theirs beside."""
    marks = []
    token_hex = secrets.token_hex

    def noted(count):
        marks.append(token_hex(count))
        return marks[-1]

    monkeypatch.setattr(secrets, "token_hex", noted)
    yield
    found = namespaces()
    assert not [name for name in found if any(f"labkit-{mark}-" in name for mark in marks)]
