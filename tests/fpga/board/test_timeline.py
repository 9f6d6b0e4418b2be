"""The traffic of a board: bounded, and as spans and a picture."""

from labkit.fpga.board import traffic
from labkit.fpga.board.timeline import Span, spans, timeline
from labkit.fpga.board.traffic import Event, Traffic

EVENTS = [
    Event(0, "x_0", "write", "0x00 = 1"),
    Event(2, "receive channel", "starts", "8 bytes at 0x18000000"),
    Event(3, "send channel", "starts", "4 bytes at 0x18001000"),
    Event(9, "send channel", "ends", "4 bytes"),
    Event(12, "x_0", "read", "0x04 = 0"),
    Event(20, "send channel", "starts", "4 bytes at 0x18001000"),
    Event(30, "receive channel", "halts", "8 bytes"),
]


def test_transfers_from_start_to_end():
    assert spans(EVENTS) == [
        Span("receive channel", 2, 30, "8 bytes at 0x18000000", "halts"),
        Span("send channel", 3, 9, "4 bytes at 0x18001000", "ends"),
        Span("send channel", 20, 30, "4 bytes at 0x18001000", ""),
    ]
    assert spans([]) == []


def test_the_picture_says_what_it_shows(monkeypatch):
    said = []
    monkeypatch.setattr("labkit.fpga.board.timeline.show", lambda figure, alt: said.append(alt))
    timeline(EVENTS)
    timeline([])
    assert "send channel: 4 bytes at 0x18001000, cycles 3 to 9;" in said[0]
    assert "cycles 20 to 30, not finished; 2 accesses of registers" in said[0]
    assert "0 accesses" in said[1]


def test_only_the_latest_events_are_kept(monkeypatch):
    monkeypatch.setattr(traffic, "MOST_EVENTS", 3)
    kept = Traffic()
    for cycle in range(5):
        kept.note(cycle, "x", "read", "")
    assert [event.cycle for event in kept.events()] == [2, 3, 4]
    kept.clear()
    assert kept.events() == []
