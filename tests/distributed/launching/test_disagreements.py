"""What ledgers that do not fit together say, from calls that are written out by hand."""

import pytest

from labkit.distributed.launching.disagreements import Comparison, mismatch, missing
from labkit.distributed.launching.ledger import Call


def reduces(place, tensor="float32[3]", numbers=3, op="SUM", group=()):
    return Call("all_reduce", place, tensor, numbers, op, group=group)


def sends(place, peer, numbers=3, tag=0):
    return Call("isend", place, f"float32[{numbers}]", numbers, peer=peer, tag=tag)


def receives(place, peer, numbers=3, tag=0):
    return Call("recv", place, f"float32[{numbers}]", numbers, peer=peer, tag=tag)


BARRIER = Call("barrier", 1)


def test_nothing_is_said_of_what_fits():
    calls = [BARRIER, reduces(2), sends(1, 1), reduces(3)]
    other = [BARRIER, reduces(2), receives(1, 0), reduces(3)]
    assert mismatch([calls, other]) is None and missing([calls, other]) == []
    assert mismatch([[], []]) is None and missing([[], []], returned=[0, 1]) == []


def test_a_shape_may_differ_if_its_numbers_are_as_many():
    assert mismatch([[reduces(1, "float32[2, 3]", 6)], [reduces(1, "float32[6]", 6)]]) is None


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (reduces(2, "float32[4]", 4), "all_reduce of float32[4] (SUM)"),
        (reduces(2, "int32[3]"), "all_reduce of int32[3] (SUM)"),
        (reduces(2, op="MAX"), "all_reduce of float32[3] (MAX)"),
        (Call("broadcast", 2, "float32[3]", 3, peer=1), "broadcast of float32[3] from rank 1"),
        (Call("reduce", 2, "float32[3]", 3, "SUM", 1), "reduce of float32[3] (SUM) to rank 1"),
        (Call("barrier", 2), "barrier"),
    ],
)
def test_what_must_agree(other, told):
    ledgers = [[BARRIER, reduces(2)], [BARRIER, other], [BARRIER, reduces(2)]]
    assert mismatch(ledgers) == (
        "Ranks disagree: ranks 0 and 2 call all_reduce of float32[3] (SUM) as their 2nd "
        f"collective, rank 1 calls {told}."
    )


def test_roots():
    ledgers = [[Call("broadcast", 1, "float32[3]", 3, peer=root)] for root in range(2)]
    assert mismatch(ledgers).endswith("rank 1 calls broadcast of float32[3] from rank 1.")


def test_groups_have_collectives_of_their_own():
    left, right = (0, 2), (1, 3)
    ledgers = [
        [BARRIER, reduces(1, group=left)],
        [BARRIER, reduces(1, op="MAX", group=right)],
        [BARRIER, reduces(1, group=left)],
        [BARRIER, reduces(1, op="MAX", group=right)],
    ]
    assert mismatch(ledgers) is None
    ledgers[3][1] = reduces(1, group=right)
    assert (
        "rank 1 calls all_reduce of float32[3] (MAX) as its 1st collective of the group [1, 3]"
        in (mismatch(ledgers))
    )
    ledgers[3].pop()
    (said,) = missing(ledgers)
    assert said.endswith("of the group [1, 3]; rank 3 has called none so far.")


def test_what_only_some_call():
    ledgers = [[BARRIER, reduces(2)], [BARRIER], [BARRIER], [BARRIER, reduces(2)]]
    assert mismatch(ledgers) is None
    assert missing(ledgers, returned=[1]) == [
        "ranks 0 and 3 call all_reduce of float32[3] (SUM) as their 2nd collective; rank 1 has "
        "returned after 1, rank 2 has called 1 so far."
    ]


def test_lone_messages():
    assert missing([[sends(1, 1), sends(2, 1)], [receives(1, 0)]], returned=[1]) == [
        "rank 0 sends its 2nd message to rank 1, which has received 1 and returned."
    ]
    assert missing([[receives(1, 1)], [receives(1, 0)]]) == [
        "rank 1 waits for its 1st message from rank 0, which has sent none.",
        "rank 0 waits for its 1st message from rank 1, which has sent none.",
    ]


def test_a_message_that_changes_its_size_on_the_way():
    told = "rank 0 sends float32[3] as its 2nd message to rank 1, which receives it as float32[4]."
    ledgers = [[sends(1, 1), sends(2, 1)], [receives(1, 0), receives(2, 0, numbers=4)]]
    assert mismatch(ledgers) == f"Ranks disagree: {told}"


def test_tags_and_whoever_comes_first():
    ledgers = [[sends(1, 1, 3, tag=7), sends(1, 1, 9)], [receives(1, 0, 9), receives(1, 0, tag=7)]]
    assert mismatch(ledgers) is None and missing(ledgers) == []
    ledgers = [[sends(1, 1)], [receives(1, None, numbers=8)]]
    assert mismatch(ledgers) is None and missing(ledgers) == []


@pytest.mark.parametrize(
    ("place", "told"), [(3, "3rd"), (11, "11th"), (12, "12th"), (21, "21st"), (104, "104th")]
)
def test_ordinals(place, told):
    before = [reduces(number) for number in range(1, place)]
    ledgers = [[*before, reduces(place)], [*before, reduces(place, op="MIN")]]
    assert f"as its {told} collective" in mismatch(ledgers)


def test_two_ranks_disagree_before_the_third_has_called():
    compared = Comparison(3)
    compared.add(2, reduces(1))
    compared.add(1, reduces(1, "float32[4]", 4))
    assert compared.sentence() == (
        "Ranks disagree: rank 1 calls all_reduce of float32[4] (SUM) as its 1st collective, "
        "rank 2 calls all_reduce of float32[3] (SUM)."
    )


def test_what_agrees_is_forgotten():
    compared = Comparison(2)
    for place in range(1, 1000):
        for call, other in (
            (reduces(place), reduces(place)),
            (sends(place, 1), receives(place, 0)),
        ):
            compared.add(0, call)
            compared.add(1, other)
    assert not compared.open and compared.sentence() is None
