"""A cocotb testbench: a module between the streams in and out keeps all words and their order.

Coroutines drive the pins at each clock edge, in Python: some ten thousand cycles in a
second, where `simulate` clocks millions. `run_cocotb` runs it.
"""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

WORDS = 100


async def reset(dut: object) -> None:
    """Two clock cycles of reset, with nothing on offer."""
    dut.in_valid.value = 0
    dut.out_ready.value = 0
    dut.rst.value = 1
    for _ in range(2):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


async def offer(dut: object, words: list[int], share: float) -> None:
    """Offer each word until it is taken; wait in a `share` of the cycles before the next."""
    for word in words:
        while random.random() < share:
            await RisingEdge(dut.clk)
        dut.in_valid.value = 1
        dut.in_data.value = word
        await moved(dut, "in")
        dut.in_valid.value = 0


async def take(dut: object, count: int, share: float) -> list[int]:
    """Take `count` words; withhold ready in a `share` of the cycles."""
    taken = []
    while len(taken) < count:
        dut.out_ready.value = int(random.random() >= share)
        await ReadOnly()  # all logic has settled
        if dut.out_valid.value and dut.out_ready.value:
            taken.append(int(dut.out_data.value))
        await RisingEdge(dut.clk)
    return taken


async def moved(dut: object, stream: str) -> None:
    """Wait for the clock edge at which the word on offer is taken."""
    while True:
        await ReadOnly()
        ready = bool(getattr(dut, f"{stream}_ready").value)
        await RisingEdge(dut.clk)
        if ready:
            return


@cocotb.test(timeout_time=100, timeout_unit="us")  # a lost word would be waited for for ever
@cocotb.parametrize(share=[0.0, 0.5])
async def keeps_words(dut: object, share: float) -> None:
    """What comes out is what went in."""
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await reset(dut)
    words = [random.randrange(128) for _ in range(WORDS)]
    sender = cocotb.start_soon(offer(dut, words, share))
    taken = await take(dut, WORDS, share)
    await sender
    assert taken == words
