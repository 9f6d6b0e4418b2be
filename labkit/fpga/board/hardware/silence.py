"""Why a transfer does not end: what a real board would keep to itself, in sentences.

A DMA waits without a word when its stream stands still. The virtual board sees both sides of each
stream, and says which of them waits for which.
"""

from collections.abc import Callable

from labkit.fpga.board.hardware.dma_driver import DmaState, Transfer
from labkit.fpga.board.hardware.wires import Wires

LOOP = "The logic of {top} does not settle: it drives itself, in a loop without a register."
HALTED = (
    "The {channel} channel halted with an error, and does not start again before a reset: write 4 "
    "to its DMACR, and then start() it."
)


def said(call: Callable[[], object]) -> str:
    """What the board says to a call, such as `channel.wait`: "done", or the text of its error."""
    try:
        call()
    except Exception as error:
        return str(error).strip()
    return "done"


def why_it_waits(sending: bool, state: DmaState, top: str, wires: Wires) -> str:
    """Why a channel, on which a transfer was or was not started, does not end it."""
    transfer = state.send if sending else state.receive
    if not transfer.length:
        return (
            f"No transfer was started on the {_name(sending)} channel: its LENGTH register was "
            "never written, or 0 was. Call transfer(buffer) before wait(); a real board waits for "
            "ever."
        )
    why = _why_not_taken(state, top, wires) if sending else _why_not_given(state, top, wires)
    return f"The {_name(sending)} channel will never be done. {why}"


def too_long(transfer: Transfer, top: str, wires: Wires) -> str:
    """A packet that goes on where the receive transfer's buffer is full (DMAIntErr).

    PG021 calls this undefined; real DMAs report an internal error (0x10 of DMASR) and halt.
    """
    return (
        f"The receive buffer of {transfer.length:,} bytes is full, and no word came with `last`. "
        "The DMA halts (DMAIntErr). Either the packet is longer: receive into a buffer for all of "
        f"it. Or its end is missing: {_about_last(top, wires)}"
    )


def freed(sending: bool, buffer: object) -> str:
    """A buffer that went while a transfer used it."""
    verb = "read" if sending else "overwritten"
    return (
        f"The buffer {buffer} was freed while the {_name(sending)} channel was using it. On a real "
        f"board, memory that may be somebody else's is {verb}. Call wait() before you free it."
    )


def _why_not_taken(state: DmaState, top: str, wires: Wires) -> str:
    """Of the sending direction: the module does not take the next word."""
    to, back = state.send, state.receive
    words = -(-to.length // wires.in_bytes)
    waits = f"{top} has taken {to.beats:,} of {words:,} words, and its ready is 0 (back-pressure)."
    if back.valid and not back.length:
        return (
            f"{waits} It offers a word itself that nobody takes: call recvchannel.transfer(buffer) "
            "before you wait for the send channel."
        )
    if back.valid and not back.running:
        return (
            f"{waits} It offers a word itself, but no receive transfer is running: the latest one, "
            f"of {back.length:,} bytes, has ended. Call recvchannel.transfer(buffer) for this "
            "packet too, before you wait, or send less."
        )
    start = "a register has to start it first, " if wires.address_bits else ""
    return (
        f"{waits} It offers no word either. Either {start}the transfer is longer than what it "
        "takes, or it waits inside for words that it has lost."
    )


def _why_not_given(state: DmaState, top: str, wires: Wires) -> str:
    """Of the receiving direction: the word with `last` does not come."""
    to, back = state.send, state.receive
    given = f"{top} has given {back.moved:,} of {back.length:,} bytes, and no word with `last`"
    if not wires.in_bytes:
        return f"{given}. It has no stream in: does a register have to start it first?"
    if not to.length:
        return (
            f"{given}: nothing was sent to it. Call sendchannel.transfer(buffer) before you wait "
            "for the receive channel."
        )
    if to.running:
        return f"{given}. {_why_not_taken(state, top, wires)}"
    return (
        f"{given}, though it has taken all {to.length:,} bytes that were sent. Either it needs "
        f"more of them, or the end of its packet is missing. {_about_last(top, wires)}"
    )


def _about_last(top: str, wires: Wires) -> str:
    if not wires.has_last:
        return f"{top} has no port for `last` (TLAST): give its stream out one."
    return f"{top} has to set `last` (TLAST) with the last word of a packet."


def _name(sending: bool) -> str:
    return "send" if sending else "receive"
