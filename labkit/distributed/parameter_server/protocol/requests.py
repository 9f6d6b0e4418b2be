"""What each kind of request holds: a wrong one is refused before anything is done.

    refuse_wrong("pull", {"kind": "pull", "step": 0, "patience": 48}, tensors)

A member of the cluster is trusted with the weights, and may be wrong all the same: another version
of labkit, or a program of one's own. Lesson parameter_servers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from reprlib import repr as short
from typing import TYPE_CHECKING, Any, NamedTuple

from labkit.distributed.parameter_server.errors import ServerError

if TYPE_CHECKING:
    import torch

MOST = 1 << 53  # a count that is above is none
LONGEST = 86_400  # seconds for which a request may wait
MOST_LETTERS = 1000


class Field(NamedTuple):
    """What a field may be, in words and as a test."""

    words: str
    test: Callable[[Any], bool]


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MOST


def _is_number(value: object) -> bool:
    return type(value) is float or (type(value) is int and abs(value) <= MOST)


COUNT = Field(f"a whole number from 0 to {MOST}", _is_count)
WORKER = Field(f"a whole number from 0 to {MOST}, or nothing", lambda x: x is None or _is_count(x))
NUMBER = Field("a number", _is_number)
SECONDS = Field(f"a number from 0 to {LONGEST}", lambda x: _is_number(x) and 0 <= x <= LONGEST)
TEXT = Field(
    f"a text of {MOST_LETTERS} letters at most",
    lambda x: isinstance(x, str) and len(x) <= MOST_LETTERS,
)
OBJECT = Field("an object with fields", lambda x: isinstance(x, dict))

FIELDS = {
    "hello": {"worker": WORKER, "fingerprint": TEXT},
    "pull": {"step": COUNT, "patience": SECONDS},
    "push": {
        "step": COUNT,
        "version": COUNT,
        "loss": NUMBER,
        "samples": COUNT,
        "patience": SECONDS,
    },
    "follow": {"push": OBJECT},
    "begin": {"of": COUNT},
}
PUSH = {  # of a follow
    "worker": COUNT,
    "step": COUNT,
    "pulled": COUNT,
    "lead": COUNT,
    "loss": NUMBER,
    "samples": COUNT,
}
WITH_GRADIENT = ("push", "follow")


def refuse_wrong(kind: str, fields: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> None:
    """Raises ServerError for a field that is missing or cannot be, and for a missing gradient."""
    _refuse(kind, fields, FIELDS.get(kind, {}))
    if kind == "follow":
        _refuse("follow's push", fields["push"], PUSH)
    if kind in WITH_GRADIENT and "gradient" not in tensors:
        raise ServerError(f"A request {kind} brings a tensor named gradient; it is missing.")


def _refuse(kind: str, fields: Mapping[str, Any], demanded: Mapping[str, Field]) -> None:
    for name, (words, test) in demanded.items():
        if name not in fields:
            raise ServerError(f"A request {kind} has {', '.join(demanded)}; {name} is missing.")
        if not test(fields[name]):
            raise ServerError(f"In a request {kind}, {name} is {words}, not {short(fields[name])}.")
