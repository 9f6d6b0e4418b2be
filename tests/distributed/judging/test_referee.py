"""The referee alone, without processes: what meets, what is counted, and when nothing can go on."""

import itertools

import pytest

from labkit.checks.watch import Line
from labkit.distributed.judging.posts import Ask, Done, Ended, Post, Wait, Where
from labkit.distributed.judging.referee import MOST_POSTS, MOST_TESTS, Referee
from labkit.distributed.judging.verdicts import verdict

numbers = itertools.count(1)


class Played:
    """A referee, and ranks that are played by hand."""

    def __init__(self, ranks):
        self.referee = Referee(ranks)
        self.went_on = []  # the ranks that were answered, in this order
        self.answers = {}

    def hear(self, rank, said):
        self._take(self.referee.hear(rank, said))

    def _take(self, answers):
        self.answers |= answers
        self.went_on += list(answers)

    def begin(self, rank, kind, name, data=b"", size=None, **about):
        line = Line("f", rank + 1, f"{name}(x)")
        size = len(data) if size is None else size
        post = Post(next(numbers), kind, name, Where(line, name), data=data, size=size, **about)
        self.hear(rank, post)
        return post.number

    def wait(self, rank, number):
        where = self.referee.seats[rank].operations[number].post.where
        self.hear(rank, Wait(number, where))

    def send(self, rank, to, data=b"1234", **about):
        self.wait(rank, self.begin(rank, "send", "send", data, peer=to, **about))

    def receive(self, rank, source, size=4, **about):
        self.wait(rank, self.begin(rank, "receive", "recv", size=size, peer=source, **about))

    def together(self, rank, name="all_reduce", data=b"1234", **about):
        self.wait(rank, self.begin(rank, "collective", name, data, **about))

    def ends(self, *ranks):
        for rank in ranks:
            self.hear(rank, Ended(b""))

    def settle(self):
        answers = self.referee.settle()
        self._take(answers)
        return bool(answers)

    @property
    def feedback(self):
        found = verdict(self.referee)
        if found is None:
            return None
        blocks = [getattr(block, "text", block) for block in found.details]
        return " ".join([found.sentence, *blocks]).replace("`", "")

    @property
    def orders(self):
        carried = self.referee.traffic(()).messages
        return [(m.source, m.target, m.order) for m in carried]


def test_a_send_goes_on_only_when_it_is_received():
    for first in ("send", "receive"):
        played = Played(2)
        steps = {"send": lambda p=played: p.send(0, 1), "receive": lambda p=played: p.receive(1, 0)}
        steps.pop(first)()
        assert played.went_on == [] and not played.referee.all_stand
        steps.popitem()[1]()
        assert sorted(played.went_on) == [0, 1]
        assert played.answers[1] == Done((b"1234",), 0)


def test_messages_of_one_link_keep_their_order_and_tags_part_them():
    played = Played(2)
    for data, tag in ((b"a", 0), (b"b", 7), (b"c", 0)):
        played.begin(0, "send", "isend", data, peer=1, tag=tag)
    got = []
    for tag in (7, 0, 0):
        played.receive(1, 0, size=1, tag=tag)
        got.append(played.answers[1].data[0])
    assert got == [b"b", b"a", b"c"]


def test_steps_are_counted_as_one_after_the_other():
    """Three ranks send to rank 0, which receives one after the other; then it answers each."""
    played = Played(4)
    for rank in (3, 2, 1):  # in whatever order they come
        played.send(rank, 0)
    for rank in (1, 2, 3):
        played.receive(0, rank)
    for rank in (1, 2, 3):
        played.send(0, rank)
        played.receive(rank, 0)
    assert played.orders == [
        (1, 0, 1), (2, 0, 2), (3, 0, 3), (0, 1, 4), (0, 2, 5), (0, 3, 6)
    ]  # fmt: skip


def test_what_travels_at_the_same_time_is_one_step():
    """A ring: everyone sends and receives, twice."""
    played = Played(3)
    for _ in range(2):
        open_ = {}
        for rank in range(3):
            begun = played.begin(rank, "receive", "irecv", size=4, peer=(rank - 1) % 3)
            open_[rank] = [begun, played.begin(rank, "send", "isend", b"1234", peer=(rank + 1) % 3)]
        for place in (0, 1):
            for rank in range(3):
                played.wait(rank, open_[rank][place])
    assert sorted(order for *_, order in played.orders) == [1, 1, 1, 2, 2, 2]
    traffic = played.referee.traffic(())
    assert traffic.sent == traffic.received == [8, 8, 8]
    assert traffic.links == {(0, 1): 8, (1, 2): 8, (2, 0): 8}
    assert (traffic.bytes, traffic.steps, traffic.most_on_a_link) == (24, 2, 8)
    waits = [call.what for call in traffic.calls[0]]
    assert waits == ["begin", "begin", "wait", "wait"] * 2


@pytest.mark.parametrize("order", list(itertools.permutations([0, 1, 2])))
def test_a_hang_is_the_same_in_whatever_order_the_ranks_come(order):
    played = Played(3)
    for rank in order:
        played.send(rank, (rank + 1) % 3)
    assert played.referee.all_stand and not played.settle()
    assert played.feedback.startswith(
        "The ranks wait for each other, and nothing can go on. rank 0 waits until rank 1 receives: "
        "line 1 of f, send(x)\nrank 1 waits until rank 2 receives"
    )
    assert "Let one rank receive first" in played.feedback


def test_a_circle_of_receives():
    played = Played(2)
    played.receive(0, 1)
    assert not played.referee.all_stand
    played.receive(1, 0)
    assert played.referee.all_stand
    assert "nobody sends one" in played.feedback


def test_a_rank_that_has_returned_is_still_waited_for():
    played = Played(2)
    played.receive(0, 1)
    played.ends(1)
    assert played.feedback.startswith("Rank 0 waits for rank 1, which has returned already.")
    assert "rank 1 has returned" in played.feedback


def test_as_long_as_one_rank_computes_nothing_is_stuck():
    played = Played(3)
    played.receive(0, 1)
    played.receive(1, 0)
    assert not played.referee.all_stand
    played.ends(2)
    assert played.referee.all_stand


def test_who_receives_from_any_takes_the_lowest_one_once_all_stand():
    for order in ((1, 2), (2, 1)):
        played = Played(3)
        for rank in order:
            played.send(rank, 0, bytes([rank]))
        assert played.went_on == []
        played.receive(0, None, size=1)
        assert played.referee.all_stand and played.settle()
        assert played.answers[0].source == 1
        played.ends(1)
        played.receive(0, None, size=1)
        assert played.referee.all_stand and played.settle()
        assert played.answers[0].source == 2
        played.ends(0, 2)
        assert played.referee.all_stand and not played.settle() and played.feedback is None


def test_a_receive_from_any_that_gets_nothing():
    played = Played(2)
    played.receive(0, None)
    played.ends(1)
    assert not played.settle()
    assert "rank 0 waits for a message of any rank" in played.feedback


def test_other_sizes_and_dtypes():
    played = Played(2)
    played.send(0, 1, b"12345678", shape=(2,), dtype="float32")
    played.receive(1, 0, size=4, shape=(1,), dtype="float32")
    assert played.referee.all_stand
    assert played.feedback.startswith(
        "Rank 0 sends 2 elements of float32, and rank 1 receives 1 element of float32"
    )
    played = Played(2)
    played.send(0, 1, shape=(1,), dtype="float32")
    played.receive(1, 0, shape=(1,), dtype="int32")
    assert "Rank 0 sends 1 element of float32, and rank 1 receives 1 element of int32" in (
        played.feedback
    )


@pytest.mark.parametrize(
    ("mine", "theirs", "says"),
    [
        ({}, {"name": "barrier"}, "call different collectives: all_reduce and barrier."),
        ({"name": "broadcast", "root": 0}, {"name": "broadcast", "root": 1},
         "call broadcast with another root: rank 0 and rank 1."),
        ({"op": "sum"}, {"op": "max"}, "call all_reduce with another op: sum and max."),
        ({"shape": (1,), "dtype": "float32"}, {"shape": (1,), "dtype": "int32"},
         "call all_reduce with another size: 1 element of float32 and 1 element of int32."),
        ({"shape": (2, 3), "dtype": "float32"}, {"shape": (3, 2), "dtype": "float32"},
         "call all_reduce with another size: 2 × 3 of float32 and 3 × 2 of float32."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("turned", [False, True])
def test_collectives_that_differ(mine, theirs, says, turned):
    played = Played(2)
    steps = [lambda: played.together(0, **mine), lambda: played.together(1, **theirs)]
    for step in reversed(steps) if turned else steps:
        step()
    assert played.referee.all_stand
    assert played.feedback.startswith("Rank 0 and rank 1 " + says)


def test_a_collective_hands_everyone_what_all_gave():
    played = Played(3)
    for rank in (2, 0, 1):
        played.together(rank, data=bytes([rank]))
    assert played.answers == {rank: Done((b"\0", b"\1", b"\2")) for rank in range(3)}
    (together,) = played.referee.traffic(()).collectives
    assert (together.name, together.bytes, together.order) == ("all_reduce", 1, 1)


def test_a_collective_that_only_some_call():
    played = Played(3)
    played.together(0)
    played.together(2)
    played.ends(1)
    assert played.feedback.startswith("Ranks 0 and 2 wait for ever.")
    assert "Only ranks 0 and 2 of 3 are in all_reduce." in played.feedback


def test_a_send_and_a_receive_with_other_tags():
    played = Played(2)
    played.send(0, 1, tag=3)
    played.receive(1, 0, tag=4)
    assert "Rank 0 has sent to rank 1 with tag 3; it receives with tag 4." in played.feedback


def test_who_asks_again_and_again_waits_too():
    played = Played(2)
    number = played.begin(0, "receive", "irecv", size=4, peer=1)
    asks = Ask(number, Where(Line("f", 2, "x"), "is_completed"))
    for _ in range(MOST_TESTS):
        assert not played.referee.all_stand
        played.hear(0, asks)
    assert not played.referee.all_stand  # rank 1 computes
    played.hear(0, asks)
    played.ends(1)
    assert played.referee.all_stand
    assert "rank 0 waits for rank 1" in played.feedback


def test_what_is_sent_without_end():
    played = Played(2)
    post = Post(MOST_POSTS, "send", "isend", Where(None, "isend"), peer=1)
    played.hear(0, post)
    assert played.referee.all_stand
    assert played.feedback.startswith("Rank 0 begins more than 5,000 messages.")


def test_a_cause_comes_before_its_consequence():
    from labkit.distributed.judging.posts import Raised

    played = Played(2)
    played.receive(0, 1)
    played.hear(1, Ended(raised=Raised("ValueError", "no", Line("f", 3, "raise"))))
    assert played.feedback.startswith("The function raises ValueError in rank 1. ValueError: no")
    played = Played(2)
    played.receive(0, 1)
    played.referee.died(1, -9)
    assert played.feedback == "The process of rank 1 was killed by SIGKILL."
    assert played.referee.all_stand
