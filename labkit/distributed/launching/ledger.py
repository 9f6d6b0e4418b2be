"""The ledger: what each rank of a launch has called of `torch.distributed`, in a file that stays.

In a rank, `keep(path)` puts a function that writes a line in the place of each one of CALLS. The
launching process reads what is there when ranks fail or hang, even of one that was killed;
`disagreements` says what does not fit together. A line costs some tens of microseconds.
"""

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

SENDS = ("send", "isend", "send_object_list")
RECEIVES = ("recv", "irecv", "recv_object_list")
# Of each collective, the argument that has the same size in every rank, if there is one.
SIZED = {
    "all_reduce": "tensor",
    "broadcast": "tensor",
    "reduce": "tensor",
    "all_gather": "tensor",
    "all_gather_into_tensor": "input_tensor",
    "reduce_scatter": "output",
    "reduce_scatter_tensor": "output",
    "gather": "tensor",
    "scatter": "tensor",
    "all_to_all": "",
    "all_to_all_single": "",
    "barrier": "",
    "monitored_barrier": "",
    "all_gather_object": "",
    "gather_object": "",
    "broadcast_object_list": "",
    "scatter_object_list": "",
    "new_group": "",
}
CALLS = (*SENDS, *RECEIVES, *SIZED)
_inside = threading.local()
PAGE = 2000  # lines of a file; this many of the page before are kept


@dataclass(frozen=True)
class Call:
    """One call: of a collective, or of a send or receive.

    place    1 for the first of its kind: of a group's collectives, or with one peer and tag
    tensor   "float32[2, 3]", or "" where sizes may differ
    numbers  how many the tensor has
    op       "SUM" and so on, or ""
    peer     the root of a collective, the other rank of a send or receive; None where there is none
    group    its ranks; empty for the group of all
    tag      of a send or receive
    """

    name: str
    place: int
    tensor: str = ""
    numbers: int = 0
    op: str = ""
    peer: int | None = None
    group: tuple[int, ...] = ()
    tag: int = 0


class Ledger:
    """A rank's calls, line by line in a file; thousands of them, of which the last stay."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = count(1)
        self.places: Counter = Counter()
        self.lock = threading.Lock()
        self.file = _opened(path)

    def write(self, kind: object, **values: Any) -> None:
        """One more call of a kind: its line is in the file before the call begins."""
        with self.lock:
            self.places[kind] += 1
            line = json.dumps(values | {"place": self.places[kind]})
            os.write(self.file, line.encode() + b"\n")
            if next(self.lines) % PAGE == 0:
                os.close(self.file)
                self.path.replace(_page_before(self.path))
                self.file = _opened(self.path)


def of_rank(folder: str | Path, rank: int) -> Path:
    """Where a rank's ledger is, in the folder of a launch."""
    return Path(folder) / f"calls-{rank}"


def keep(path: Path) -> None:
    """From now on, each call of this process is written down there."""
    import torch.distributed as dist
    import torch.distributed.distributed_c10d as home

    ledger = Ledger(path)
    for name in CALLS:
        noted = _noted(getattr(home, name), name, ledger)
        for module in (dist, home):
            setattr(module, name, noted)


def read(path: Path) -> Iterator[Call]:
    """The calls of a rank, in their order; none where it has not begun."""
    for page in (_page_before(path), path):
        text = page.read_text("utf-8") if page.exists() else ""
        yield from map(_call, text[: text.rfind("\n") + 1].splitlines())  # whole lines


class Reader:
    """A rank's calls while they are written: `new()` gives those since the last time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.page: BinaryIO | None = None
        self.half = b""  # of a line that is being written

    def new(self) -> Iterator[Call]:
        """The calls that were not given before; of pages that were missed there are none."""
        while self._opened():
            turned = self._is_turned()  # asked before it is read: then nothing comes behind that
            *lines, self.half = (self.half + self.page.read()).split(b"\n")
            yield from map(_call, lines)
            if not turned:
                return
            self.close()

    def close(self) -> None:
        """Closes the page."""
        if self.page is not None:
            self.page.close()
            self.page = None

    def _opened(self) -> bool:
        if self.page is None:
            with suppress(FileNotFoundError):
                self.page = self.path.open("rb")
        return self.page is not None

    def _is_turned(self) -> bool:
        """Whether the rank writes on another page by now."""
        try:
            return not os.path.samestat(os.fstat(self.page.fileno()), self.path.stat())
        except FileNotFoundError:
            return True


def _call(line: str | bytes) -> Call:
    values = json.loads(line)
    return Call(**values | {"group": tuple(values.get("group", ()))})


@contextmanager
def hidden() -> Iterator[None]:
    """What this thread calls in the block is not the program's own, and not written down."""
    before = getattr(_inside, "call", False)
    _inside.call = True
    try:
        yield
    finally:
        _inside.call = before


def _noted(function: Callable, name: str, ledger: Ledger) -> Callable:
    parameters = signature(function).parameters.values()
    names = [parameter.name for parameter in parameters]
    usual = {parameter.name: parameter.default for parameter in parameters}

    @wraps(function)
    def noted(*args: Any, **named: Any) -> Any:
        if getattr(_inside, "call", False):
            return function(*args, **named)
        _write(ledger, name, usual | dict(zip(names, args, strict=False)) | named)
        _inside.call = True  # the calls that it makes itself
        try:
            return function(*args, **named)
        finally:
            _inside.call = False

    return noted


def _write(ledger: Ledger, name: str, given: dict[str, Any]) -> None:
    """A wrong argument writes nothing: the call itself says what is wrong with it.

    Nor does a thread beside the program's own, in a group of its own: such calls come in no order
    with those of the program.
    """
    if given.get("group") is not None and threading.current_thread() is not threading.main_thread():
        return
    try:
        group = _ranks_of(given.get("group"))
        peer = _peer(name, given, group)
        tag = given.get("tag", 0)
        tensor, numbers = _described(given.get(SIZED.get(name, "tensor")))
        op = "" if given.get("op") is None else str(given["op"]).rpartition(".")[2]
    except Exception:
        return
    kind = group if name in SIZED else (name in SENDS, peer, tag)
    values = {"tensor": tensor, "numbers": numbers, "op": op}
    ledger.write(kind, name=name, **values, peer=peer, group=group, tag=tag)


def _ranks_of(group: Any) -> tuple[int, ...]:
    import torch.distributed as dist

    if group is None:
        return ()
    ranks = tuple(dist.get_process_group_ranks(group))
    return () if len(ranks) == dist.get_world_size() else ranks


def _peer(name: str, given: dict[str, Any], group: tuple[int, ...]) -> int | None:
    """The rank in the group of all that `src`, `dst` and the like name; of a root, 0 by default."""
    for end in ("src", "dst"):
        if given.get(end) is not None:
            return int(given[end])
        if given.get(f"group_{end}") is not None:
            place = int(given[f"group_{end}"])
            return group[place] if group else place
    if name in SIZED and ("src" in given or "dst" in given):
        return group[0] if group else 0
    return None


def _described(tensor: Any) -> tuple[str, int]:
    """Kind and size of a tensor, and how many numbers it has."""
    if tensor is None or not hasattr(tensor, "dtype"):
        return "", 0
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}", tensor.numel()


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _page_before(path: Path) -> Path:
    return path.with_name(path.name + ".before")
