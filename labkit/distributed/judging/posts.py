"""What a rank and the referee say to each other: what it posts, where, and how it ended."""

from dataclasses import dataclass

from labkit.checks.watch import Hit, Line


@dataclass(frozen=True)
class Where:
    """The learner's line, and the function that it calls there; None where it is not known."""

    line: Line | None
    called: str

    def __str__(self) -> str:
        """ "`recv`, line 3 of `ring`"."""
        return f"`{self.called}`, {self.line}" if self.line else f"`{self.called}`"


@dataclass(frozen=True)
class Post:
    """One operation that a rank begins.

    number  counts the rank's operations
    kind    "send", "receive" or "collective"
    name    "isend", "all_reduce" and so on
    peer    the other rank of a message; None: from any
    shape   of the tensor; all ranks of a collective have to have the same
    data    the bytes that this rank gives; of a receive, none
    size    bytes of the tensor
    root    of a collective that has one
    op      "sum" and so on, of a collective that reduces
    late    whether the rank goes on before it is done
    """

    number: int
    kind: str
    name: str
    where: Where
    dtype: str = ""
    shape: tuple[int, ...] = ()
    data: bytes = b""
    size: int = 0
    peer: int | None = None
    tag: int = 0
    root: int | None = None
    op: str | None = None
    late: bool = False


@dataclass(frozen=True)
class Wait:
    """The rank does not go on before its operation `number` is done; answered by a `Done`."""

    number: int
    where: Where


@dataclass(frozen=True)
class Ask:
    """Is operation `number` done? Answered by True or False at once."""

    number: int
    where: Where


@dataclass(frozen=True)
class Done:
    """An operation is done: what each rank gave to it, and for a receive, who sent."""

    data: tuple[bytes, ...] = ()
    source: int | None = None


@dataclass(frozen=True)
class Raised:
    """An exception in a rank."""

    kind: str
    message: str
    line: Line | None


@dataclass(frozen=True)
class Ended:
    """How a rank's function ended.

    value      what it returned, NumPy arrays in the place of tensors, pickled
    untouched  it returned None, and has changed none of its inputs
    raised     the exception, if it raised one
    endless    the line in which it was stopped; True where no line is known
    idle       it was stopped while it waited for something that is no rank
    hit        the first forbidden thing that it used
    changed    the place of the first input that it changed
    left       operations that it began and never waited for
    behind     a sentence on what it has left running, and what to do about it
    again      what each later call in the same process returned
    after      what the first one had returned, as it was after that
    """

    value: bytes | None = None
    untouched: bool = False
    raised: Raised | None = None
    endless: Line | bool = False
    idle: bool = False
    hit: Hit | None = None
    changed: int | None = None
    left: tuple[Post, ...] = ()
    behind: tuple[str, str] | None = None
    again: tuple[bytes, ...] = ()
    after: bytes | None = None


@dataclass(frozen=True)
class Unfit:
    """In the place of a result that is no array of numbers."""

    kind: str
