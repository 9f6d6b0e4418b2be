"""The accelerator in simulation: its registers, its streams, and whole jobs.

    with Accelerator() as accelerator:
        run = accelerator.run(quantized.layers, quantized.to_int8(images))
    run.logits, run.cycles

`rtl/accelerator.sv` is the circuit, and nothing here knows what it computes. Lesson
the_network_as_a_pipeline.
"""

from dataclasses import dataclass

import numpy as np

from labkit.fpga.convnet.accelerator_cycles import layer_cycles
from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes, refuse_lanes
from labkit.fpga.convnet.accelerator_words import job_words, logits
from labkit.fpga.errors import RTLError
from labkit.fpga.integers.integer_layers import IntegerLayer
from labkit.fpga.library import library
from labkit.fpga.running.stalls import Stalls, pattern
from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain import axi_driver
from labkit.fpga.toolchain.models import compiled
from labkit.provenance import Quantity, counted

TOP = "accelerator"
REGISTERS = {
    "CONTROL": 0x00,
    "STATUS": 0x04,
    "IMAGES": 0x08,
    "CYCLES": 0x0C,
    "BEATS_IN": 0x10,
    "BEATS_OUT": 0x14,
    "FOLDING": 0x18,
    "SHAPES": 0x1C,
}
STATUS = (
    "BUSY",
    "DONE",
    "START_WHILE_BUSY",
    "NO_IMAGES",
    "OTHER_NETWORK",
    "TOO_SHORT",
    "TOO_LONG",
)
START, RESET = 1, 2  # bits of CONTROL
ANSWER_LIMIT = 100  # cycles in which a register has to answer
ADDRESSES = 64  # bytes that the port of the registers reaches


@dataclass(frozen=True, eq=False)
class AcceleratorRun:
    """What a job gave, and what the registers say of it. All of it is counted.

    logits      int32[N,10]
    cycles      the register CYCLES: from the start command to the end of the job
    status      the bits of STATUS that are set
    beats_in    beats of the stream that were taken
    beats_out   words that came out
    """

    logits: np.ndarray
    cycles: Quantity
    status: frozenset[str]
    beats_in: int
    beats_out: int


class Accelerator:
    """The accelerator, compiled and reset: `with Accelerator(folding) as accelerator`.

    folding   its knobs
    shapes    those of its network
    engine    "verilator" or "cxxrtl"
    own       module -> text, in place of the course's
    stalls    by chance, on both streams
    queues    "ROW_QUEUE" and "VALUE_QUEUE", how many words they hold: powers of two

    Raises ValueError for a folding that does not divide the layers, and RTLError for a circuit of
    the caller's own that a tool refuses.
    """

    def __init__(
        self,
        folding: Folding | None = None,
        shapes: Shapes | None = None,
        engine: str = "verilator",
        own: dict[str, str] | None = None,
        stalls: Stalls | None = None,
        queues: dict[str, int] | None = None,
    ) -> None:
        self.folding = folding or Folding()
        self.shapes = shapes or Shapes()
        self.parameters = self.folding.parameters | self.shapes.parameters | (queues or {})
        refuse_lanes(self.folding, self.shapes)
        sources = read_sources(library(TOP, own=own), TOP)
        self.model = compiled(sources, engine, self.parameters)
        self._run = axi_driver.AxiRun(self.model.table, self.model.ports)
        self._run.stall(pattern(stalls, "s_axis"), pattern(stalls, "m_axis"))
        # No layer works longer on an image without that any word moves.
        self.quiet = 4 * max(layer_cycles(self.folding, self.shapes).values())

    def __enter__(self) -> "Accelerator":
        return self

    def __exit__(self, *error: object) -> None:
        self._run.free()

    def write(self, register: str | int, value: int, byte_enables: int = 0b1111) -> None:
        """Write a register, by name or address.

        Raises RTLError for a value or an address of more bits than the port has, for an address
        without a register, one that can only be read, a part of a word, and for a circuit that
        does not answer.
        """
        address = _address(register)
        _whole("A register's value", value, 2**32)
        response = self._run.write(address, value, byte_enables, ANSWER_LIMIT)
        _answered(response, f"Writing {value} to address 0x{address:02X}")

    def read(self, register: str | int) -> int:
        """The value of a register, by name or address; raises RTLError as `write` does."""
        address = _address(register)
        response, value = self._run.read(address, ANSWER_LIMIT)
        _answered(response, f"Reading address 0x{address:02X}")
        return value

    def status(self) -> frozenset[str]:
        """The bits of STATUS that are set."""
        value = self.read("STATUS")
        return frozenset(name for place, name in enumerate(STATUS) if value >> place & 1)

    def start(self, images: int = 1) -> None:
        """The start command for a job of so many images."""
        self.write("IMAGES", images)
        self.write("CONTROL", START)

    def reset(self) -> None:
        """Ends any job, and forgets the words that it has not taken."""
        self._run.drop()
        self.write("CONTROL", RESET)

    def send(self, words: np.ndarray, last: bool = True) -> None:
        """Queues a packet of beats (uint64) for the stream in; `last` marks its end."""
        lasts = np.zeros(len(words), np.uint8)
        if last and len(words):
            lasts[-1] = 1
        self._run.send(words, lasts)

    def advance(self, cycles: int, quiet: int | None = None) -> str:
        """Clocks it for up to `cycles`, and says why it stopped.

        "packet out": the last word of a packet came out. "quiet": no word has moved for so many
        cycles. "advanced": neither.
        """
        ending = self._run.advance(cycles, self.quiet if quiet is None else quiet)
        if ending == "unsettled":
            raise RTLError("The logic of the accelerator does not settle: it drives itself.")
        return ending

    def state(self) -> axi_driver.State:
        """How many words have moved, when the latest did, and what waits now."""
        return self._run.state()

    def received(self) -> tuple[np.ndarray, np.ndarray]:
        """All words that have come out (uint64), and the `last` of each."""
        return self._run.received()

    def wait(self, limit: int = 100_000_000) -> None:
        """Clocks it until the job is over.

        Raises RTLError for a job that is stuck, with what it waits for.
        """
        end = self.state().cycle + limit
        stuck = False
        while "BUSY" in self.status():
            if stuck:
                raise RTLError(self.what_it_waits_for())
            left = end - self.state().cycle
            stuck = left <= 0 or self.advance(left) == "quiet"

    def what_it_waits_for(self) -> str:
        """A sentence on each stream: what has moved, and which side waits for the other."""
        state = self.state()
        if state.queued:
            sent = (
                f"s_axis waits with beat {state.sent + 1:,}: tvalid is {state.in_valid} and "
                f"tready is {state.in_ready}"
            )
        else:
            sent = f"all {state.sent:,} beats of s_axis are taken, and tready is {state.in_ready}"
        if state.out_valid:
            out = f"m_axis offers word {state.received + 1:,}, and tready is {state.out_ready}"
        else:
            out = f"m_axis has given {state.received:,} words and offers none"
        bits = ", ".join(name for name in STATUS if name in self.status())
        return f"The job does not end. {sent}; {out}. STATUS says {bits or 'nothing'}."

    def run(self, layers: tuple[IntegerLayer, ...], images: np.ndarray) -> AcceleratorRun:
        """One job: a network's layers and int8 images[N,3,H,W] in, logits out.

        Raises RTLError while another job runs or words of one wait, and for a job that fails.
        """
        words = job_words(layers, images, self.folding, self.shapes)
        if self.state().queued or "BUSY" in self.status():
            raise RTLError(
                "Another job runs, or words of one wait to be sent: `wait()` for its end, or "
                "`reset()`."
            )
        before = self.state().received
        self.start(len(images))
        self.send(words)
        self.wait()
        out, _ = self.received()
        if self.status() != {"DONE"}:
            raise RTLError(f"The job has failed: STATUS says {', '.join(sorted(self.status()))}.")
        return AcceleratorRun(
            logits=logits(out[before:]),
            cycles=counted(self.read("CYCLES"), "cycles", "the register of the accelerator"),
            status=self.status(),
            beats_in=self.read("BEATS_IN"),
            beats_out=self.read("BEATS_OUT"),
        )


def _address(register: str | int) -> int:
    if not isinstance(register, str):
        return _whole("An address", register, ADDRESSES)
    if register not in REGISTERS:
        raise RTLError(f"There is no register {register!r}; there are {', '.join(REGISTERS)}.")
    return REGISTERS[register]


def _answered(response: int, what: str) -> None:
    if response == -1:
        raise RTLError(f"{what}: the accelerator has not answered in {ANSWER_LIMIT} cycles.")
    if response == -2:
        raise RTLError(f"{what}: the logic does not settle, because it drives itself.")
    if response:
        raise RTLError(
            f"{what} is answered with SLVERR: there is no such register, it can only be read, or "
            "not all four bytes were written."
        )


def _whole(name: str, value: object, end: int) -> int:
    """A whole number from 0 to below `end`; raises RTLError for anything else."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not 0 <= value < end:
        raise RTLError(f"{name} is a whole number from 0 to {end - 1:,}, not {value!r}.")
    return int(value)
