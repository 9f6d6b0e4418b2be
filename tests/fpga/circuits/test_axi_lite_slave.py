"""The registers' side of AXI4-Lite alone: masters that hold back any channel, against Python.

The registers behind it are Python, too: `Registers` says of each address and word whether it wants
it. What has to come out follows from the order of the accesses and AXI's rules, not from cycles.
"""

from collections import deque
from contextlib import closing

import numpy as np
import pytest

from labkit.fpga.library import library
from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain.models import compiled
from tests.fpga.circuits.stepped import Stepped

ENGINES = ["cxxrtl", "verilator"]
OKAY, SLAVE_ERROR = 0, 2
PATIENCE = 20_000  # cycles: this only ends a hang
CHANNELS = ("aw", "w", "b", "ar", "r")


class Registers:
    """Words at 0, 4, 8 and 12 that hold at most 16 bits."""

    def __init__(self) -> None:
        self.words = dict.fromkeys((0, 4, 8, 12), 0)

    def wants(self, address: int, data: int) -> bool:
        return address in self.words and data < 2**16


def slave(engine: str) -> Stepped:
    sources = read_sources(library("axi_lite_slave"), "axi_lite_slave")
    return Stepped(compiled(sources, engine, {"ADDRESS_BITS": 5}))


def drawn(rng: np.random.Generator, count: int) -> tuple[list, list]:
    """Writes (address, data, strobes) and addresses to read; most of them are fine."""
    writes, reads = [], []
    for _ in range(count):
        address, other = (int(a) for a in rng.choice([0, 4, 8, 12, 12, 2, 16, 28], 2))
        data = int(rng.integers(0, 2 ** int(rng.choice([16, 32]))))
        strobes = 15 if rng.random() < 0.7 else int(rng.integers(0, 16))
        writes.append((address, data, strobes))
        reads.append(other)
    return writes, reads


class Bench:
    """All five channels of a slave, each held back in its own share of the cycles."""

    def __init__(self, slave: Stepped, rng: np.random.Generator, idle: dict[str, float]) -> None:
        self.slave = slave
        self.rng = rng
        self.idle = idle
        self.registers = Registers()
        self.strobes = []  # (address, data) of each cycle with `write`
        self.answers = []  # of the writes
        self.values = []  # (response, value) of the reads
        self.seen = []  # (response, value) that each read has to give, by when it was taken
        self.moved = {channel: [] for channel in CHANNELS}  # the cycles in which a word moved

    def run(self, writes: list, reads: list) -> None:
        waiting = {
            "aw": deque({"awaddr": address} for address, _, _ in writes),
            "w": deque({"wdata": data, "wstrb": strobes} for _, data, strobes in writes),
            "ar": deque({"araddr": address} for address in reads),
        }
        offered = dict.fromkeys(waiting, False)
        kept = {"b": None, "r": None}  # an answer that nobody took yet
        for cycle in range(PATIENCE):
            if len(self.answers) == len(writes) and len(self.values) == len(reads):
                return
            for channel, words in waiting.items():
                draw = self.rng.random() >= self.idle[channel]
                offered[channel] = bool(words) and (offered[channel] or draw)
                self.slave[f"s_axi_{channel}valid"] = offered[channel]
                for name, value in words[0].items() if offered[channel] else ():
                    self.slave[f"s_axi_{name}"] = value
            for channel in kept:
                self.slave[f"s_axi_{channel}ready"] = self.rng.random() >= self.idle[channel]
            self.answer_as_registers()
            self.watch_answers(kept)
            for channel in CHANNELS:
                if self.has_moved(channel):
                    self.moved[channel].append(cycle)
                    self.take(channel)
                    if channel in waiting:
                        waiting[channel].popleft()
                        offered[channel] = False
            if self.slave["write"]:
                address, data = self.slave["write_address"], self.slave["write_data"]
                self.strobes.append((address, data))
                self.registers.words[address] = data
            self.slave.clock()
        raise AssertionError("an access is never answered")

    def answer_as_registers(self) -> None:
        self.slave.settle()
        address, data = self.slave["write_address"], self.slave["write_data"]
        self.slave["write_okay"] = self.registers.wants(address, data)
        self.slave["read_okay"] = self.slave["read_address"] in self.registers.words
        self.slave["read_data"] = self.registers.words.get(self.slave["read_address"], 0)
        self.slave.settle()

    def has_moved(self, channel: str) -> bool:
        return bool(self.slave[f"s_axi_{channel}valid"] and self.slave[f"s_axi_{channel}ready"])

    def take(self, channel: str) -> None:
        if channel == "b":
            self.answers.append(self.slave["s_axi_bresp"])
        elif channel == "r":
            self.values.append((self.slave["s_axi_rresp"], self.slave["s_axi_rdata"]))
        elif channel == "ar":
            address = self.slave["s_axi_araddr"]
            found = address in self.registers.words
            response = OKAY if found else SLAVE_ERROR
            self.seen.append((response, self.registers.words.get(address, 0)))

    def watch_answers(self, kept: dict) -> None:
        """An answer that is offered stays as it is until it is taken."""
        for channel, before in kept.items():
            names = [f"s_axi_{channel}resp"] + ["s_axi_rdata"] * (channel == "r")
            now = None
            if self.slave[f"s_axi_{channel}valid"]:
                now = tuple(self.slave[name] for name in names)
            assert before is None or now == before
            kept[channel] = None if self.has_moved(channel) else now


def expected(writes: list) -> tuple[list, list]:
    """The writes that reach the registers, and the answer to each."""
    registers, reached, answers = Registers(), [], []
    for address, data, strobes in writes:
        fits = strobes == 15 and registers.wants(address, data)
        answers.append(OKAY if fits else SLAVE_ERROR)
        if fits:
            reached.append((address, data))
    return reached, answers


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(6))
def test_any_master(engine, seed):
    """Address before data, data before address, answers that wait, and none of it."""
    rng = np.random.default_rng(seed)
    idle = {channel: float(rng.choice([0, 0.3, 0.9])) for channel in CHANNELS}
    writes, reads = drawn(rng, 60)
    with closing(slave(engine)) as circuit:
        bench = Bench(circuit, rng, idle)
        bench.run(writes, reads)
    reached, answers = expected(writes)
    assert bench.strobes == reached
    assert bench.answers == answers
    assert bench.values == bench.seen
    assert bench.moved["aw"] == bench.moved["w"]  # both are taken at once


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("late", CHANNELS)
def test_one_channel_is_late(engine, late):
    rng = np.random.default_rng(CHANNELS.index(late))
    writes, reads = drawn(rng, 20)
    with closing(slave(engine)) as circuit:
        bench = Bench(circuit, rng, dict.fromkeys(CHANNELS, 0.0) | {late: 0.95})
        bench.run(writes, reads)
    assert (bench.strobes, bench.answers) == expected(writes)
    assert bench.values == bench.seen


def test_two_cycles_each_when_nobody_waits():
    rng = np.random.default_rng(0)
    writes, reads = drawn(rng, 10)
    with closing(slave("verilator")) as circuit:
        bench = Bench(circuit, rng, dict.fromkeys(CHANNELS, 0.0))
        bench.run(writes, reads)
    every_other = list(range(0, 20, 2))
    assert bench.moved["aw"] == bench.moved["ar"] == every_other
    assert bench.moved["b"] == bench.moved["r"] == [cycle + 1 for cycle in every_other]


def test_a_reset_forgets_an_answer_that_waits():
    with closing(slave("verilator")) as circuit:
        for name in ("awvalid", "wvalid", "arvalid"):
            circuit[f"s_axi_{name}"] = 1
        circuit.clock()
        assert circuit["s_axi_bvalid"] and circuit["s_axi_rvalid"]
        circuit["rst"] = 1
        circuit.clock()
        assert not circuit["s_axi_bvalid"] and not circuit["s_axi_rvalid"]
