"""What a case in rank processes is told, in sentences: who waits where for whom, and why in vain.

Causes come before consequences: what is forbidden, a rank that died, raised or did not end, two
sides that do not fit, and only then that nothing can go on.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from labkit.checks.items import Refused
from labkit.checks.phrasing import line_blocks, not_allowed, shape_text
from labkit.checks.render import Code
from labkit.checks.watch import Hit, Line
from labkit.distributed.judging.posts import Post, Where
from labkit.distributed.judging.referee import MOST_POSTS, Operation, Referee, Seat

STUCK = "The ranks wait for each other, and nothing can go on."
SENDS = (
    "A send may wait until its receiver is there. Let one rank receive first, and the others send "
    "first."
)
RECEIVES = "Everyone waits for a message, and nobody sends one: who sends first?"
GONE = "Each send needs a receive in its partner, and each receive a send: which is missing?"
SOME = "A collective needs every rank of the group, in the same order of calls."
ENDLESS = "Look for a loop whose condition never becomes false, or for far too many steps."
IDLE = "It waits for something that is no rank, such as `input` or `sleep`."


class Verdict(NamedTuple):
    """A sentence, and the paragraphs below it."""

    sentence: str
    details: tuple[str | Code, ...] = ()

    def refused(self) -> Refused:
        """As an adapter raises it."""
        return Refused(self.sentence, *self.details)


def verdict(
    referee: Referee, names: Sequence[str] = (), forbidden: tuple[str, ...] = ()
) -> Verdict | None:
    """What is wrong with a run, whatever its results are; None if nothing.

    names       of the inputs
    forbidden   what the exercise forbids
    """
    return next(_all(referee, names, forbidden), None)


def _all(referee: Referee, names: Sequence[str], forbidden: tuple[str, ...]) -> Iterator[Verdict]:
    """In the order in which they are told; of each kind the lowest rank's first."""
    seats = list(enumerate(referee.seats))
    ended = [(rank, seat.ended) for rank, seat in seats if seat.ended]
    for _, how in ended:
        if how.hit is not None and not how.hit.late:
            yield _forbidden(how.hit, forbidden)
    for rank, seat in seats:
        if seat.died is not None:
            yield _died(rank, seat.died)
    for rank, how in ended:
        if how.raised:
            raised = f"{how.raised.kind}: {how.raised.message}".removesuffix(": ")
            where = line_blocks(how.raised.line)
            sentence = f"The function raises {how.raised.kind} in rank {rank}."
            yield Verdict(sentence, (Code(raised), *where))
    for rank, how in ended:
        if how.endless:
            line = how.endless if isinstance(how.endless, Line) else None
            where = line_blocks(line, "It was stopped in")
            sentence = f"The function does not return in rank {rank}."
            yield Verdict(sentence, (*where, IDLE if how.idle else ENDLESS))
    if referee.too_many is not None:
        yield Verdict(
            f"Rank {referee.too_many} begins more than {MOST_POSTS:,} messages.", (ENDLESS,)
        )
    if referee.faults:
        yield _misfit(*min(referee.faults, key=_place))
    if not all(seat.gone for _, seat in seats):
        yield _stuck(referee)
    for rank, how in ended:
        if how.hit is not None:
            yield _forbidden(how.hit, forbidden)
        if how.changed is not None:
            name = names[how.changed] if how.changed < len(names) else f"input {how.changed}"
            yield Verdict(
                f"The function changes its input `{name}`, in rank {rank}.",
                (f"The caller still needs it. Work on a copy, `{name}.clone()`.",),
            )
    for rank, how in ended:
        for post in how.left:
            yield _left(referee, rank, post)
    for rank, how in ended:
        if how.behind is not None:
            sentence, cure = how.behind
            yield Verdict(f"{sentence} (In rank {rank}.)", (cure,))


def _died(rank: int, code: int) -> Verdict:
    from labkit.distributed.launching.failures import exit_text  # loads PyTorch

    return Verdict(f"The process of rank {rank} {exit_text(code)}.")


def _forbidden(hit: Hit, forbidden: tuple[str, ...]) -> Verdict:
    said = {
        "oracle": "The function calls the course's own answer; this exercise asks you to write it.",
        "forbidden": f"The function uses `{hit.name}`; this exercise asks you to do without it.",
        "file": "The function writes to a file; ranks pass on what they have by messages alone.",
        "escape": f"The function calls `{hit.name}`, which disturbs the check; leave it out.",
    }
    without = not_allowed(forbidden) if hit.kind == "forbidden" else []
    return Verdict(said[hit.kind], (*line_blocks(hit.line), *without))


def _place(fault: tuple[Operation, Operation]) -> tuple:
    """An order of faults that does not depend on which came first."""
    return tuple((one.post.kind, one.post.number, one.rank) for one in fault)


# Two sides that met, and do not fit.


def _misfit(one: Operation, other: Operation) -> Verdict:
    first, second = one.post, other.post
    rows = Code(f"{_doing(one)}\n{_doing(other)}")
    if first.kind == "send":
        return Verdict(
            f"Rank {one.rank} sends {_what(first)}, and rank {other.rank} receives "
            f"{_what(second)}: both have to be the same.",
            (rows,),
        )
    names = f"Rank {one.rank} and rank {other.rank}"
    if first.name != second.name:
        return Verdict(
            f"{names} call different collectives: `{first.name}` and `{second.name}`.",
            (rows, "All ranks make the same calls, in the same order."),
        )
    for what, mine, theirs in (
        ("root", f"rank {first.root}", f"rank {second.root}"),
        ("op", first.op, second.op),
        ("size", _what(first), _what(second)),
    ):
        if mine != theirs:
            return Verdict(
                f"{names} call `{first.name}` with another {what}: {mine} and {theirs}.",
                (rows, "All ranks have to agree on it."),
            )
    return Verdict(f"{names} do not agree in `{first.name}`.", (rows,))


def _doing(operation: Operation) -> str:
    return f"rank {operation.rank}: {_at(operation.post.where)}"


def _what(post: Post) -> str:
    shape = shape_text(post.shape) if post.shape else "a single number"
    return f"{shape} of {post.dtype}" if post.dtype else "nothing"


# Nothing can go on.


def _stuck(referee: Referee) -> Verdict:
    rows = [_row(rank, seat) for rank, seat in enumerate(referee.seats)]
    return Verdict(_headline(referee), (Code("\n".join(rows)), *_advice(referee)))


def _row(rank: int, seat: Seat) -> str:
    if seat.stands is None:
        return f"rank {rank} has returned"
    post = seat.stands.post
    return f"rank {rank} waits{_for(post)}: {_at(seat.where)}"


def _for(post: Post) -> str:
    if post.kind == "send":
        return f" until rank {post.peer} receives"
    if post.kind == "receive":
        return " for a message of any rank" if post.peer is None else f" for rank {post.peer}"
    return f" for all ranks in {post.name}"


def _at(where: Where) -> str:
    """ "line 3 of `ring`: dist.recv(x, 0)"."""
    if where.line is None:
        return f"in {where.called}"
    return f"{where.line}, {where.line.text}".replace("`", "")


def _waiting(referee: Referee) -> dict[int, Post]:
    seats = enumerate(referee.seats)
    return {rank: seat.stands.post for rank, seat in seats if seat.stands is not None}


def _headline(referee: Referee) -> str:
    waiting = _waiting(referee)
    if len(waiting) > 1 and len(waiting) == len(referee.seats):
        return STUCK
    for rank, post in waiting.items():
        if post.peer is not None and post.peer not in waiting:
            return f"Rank {rank} waits for rank {post.peer}, which has returned already."
    names = _named(list(waiting))
    return f"{names} {'waits' if len(waiting) == 1 else 'wait'} for ever."


def _advice(referee: Referee) -> tuple[str, ...]:
    waiting = _waiting(referee)
    kinds = {post.kind for post in waiting.values()}
    together = [rank for rank, post in waiting.items() if post.kind == "collective"]
    if together and len(together) < len(referee.seats):
        name = waiting[together[0]].name
        return (f"Only {_named(together, 'rank')} of {len(referee.seats)} "
                f"{'is' if len(together) == 1 else 'are'} in `{name}`. {SOME}",)  # fmt: skip
    for rank, post in waiting.items():
        if post.kind == "receive" and post.peer is not None:
            other = [one.post for one in referee.unreceived(post.peer, rank)]
            if other:
                return (f"Rank {post.peer} has sent to rank {rank} with tag {other[0].tag}; it "
                        f"receives with tag {post.tag}.",)  # fmt: skip
    if len(waiting) < len(referee.seats):
        return (GONE,)
    if kinds == {"send"}:
        return (SENDS,)
    if kinds == {"receive"}:
        return (RECEIVES,)
    return ("Each send needs its receive in the other rank, in the same order.",)


def _named(ranks: list[int], word: str = "Rank") -> str:
    """ "Rank 2", "Ranks 0 and 2"."""
    if len(ranks) == 1:
        return f"{word} {ranks[0]}"
    return f"{word}s {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def _left(referee: Referee, rank: int, post: Post) -> Verdict:
    """An operation that nobody waited for."""
    where = line_blocks(post.where.line, "It begins in")
    if post.kind == "send":
        if any(one.post.number == post.number for one in referee.unreceived(rank, post.peer)):
            return Verdict(
                f"Nobody receives what rank {rank} sends to rank {post.peer}.", tuple(where)
            )
        why = "until then, its tensor is still being read."
    else:
        why = "until then, nothing of it is in your tensor."
    sentence = f"Rank {rank} returns without waiting for its `{post.name}`."
    return Verdict(sentence, (*where, f"Call wait() on what `{post.name}` gives back: {why}"))
