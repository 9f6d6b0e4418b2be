"""Lines of several ranks on one screen: in which order, and never mixed."""

from types import SimpleNamespace

import pytest

from labkit.distributed.launching.screen import Screen


@pytest.fixture
def ranks():
    return [SimpleNamespace(number=n, printed=bytearray(), running=True) for n in range(3)]


def test_in_the_order_of_the_ranks(ranks, capsys):
    screen = Screen(ranks)

    def shown(rank=None, printed=b"", ends=False):
        if rank is not None:
            ranks[rank].printed += printed
            ranks[rank].running = not ends
        screen.show()
        return capsys.readouterr().out

    assert shown(1, b"early\n") == ""
    assert shown(0, b"one\ntw") == "[rank 0] one\n"
    assert shown(0, b"o\n") == "[rank 0] two\n"
    assert shown(2, b"at once\n", ends=True) == ""
    assert shown(0, b"last", ends=True) == "[rank 0] last\n[rank 1] early\n"
    assert shown(1, b"\n", ends=True) == "[rank 1] \n[rank 2] at once\n"
    ranks[0].printed += b"a child's"
    screen.show_all()
    assert capsys.readouterr().out == "[rank 0] a child's\n"


def test_as_they_come(ranks, capsys):
    screen = Screen(ranks, live=True)
    for rank, printed in ((2, b"a\nb"), (0, b"c\n"), (2, b"\n")):
        ranks[rank].printed += printed
        screen.show()
    assert capsys.readouterr().out == "[rank 2] a\n[rank 0] c\n[rank 2] b\n"


def test_bars_replace_themselves_and_no_line_of_another_rank(ranks, capsys):
    screen = Screen(ranks, live=True)
    for rank, text in ((0, b"\r 0%"), (0, b"\r50%"), (1, b"hello\r"), (1, b"\n"), (0, b"\r100%\n")):
        ranks[rank].printed += text
        screen.show()
    assert capsys.readouterr().out == (
        "[rank 0]  0%\r\n[rank 1] hello\n[rank 0] 50%\r[rank 0] 100%\n"
    )


def test_bytes_that_are_no_text_are_shown(ranks, capsys):
    ranks[0].printed += b"\xff\xfe\n"
    Screen(ranks).show()
    assert (
        capsys.readouterr().out == "[rank 0] \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}\n"
    )
