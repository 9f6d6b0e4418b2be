"""The exercises of lesson the_overlay: a DMA's registers, a whole transfer, a stage for pixels."""

from functools import cache

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit.checks.phrasing import are
from labkit.fpga.board.design import Design
from labkit.fpga.board.private import PrivateBoard
from labkit.fpga.judging.board_exercise import board_exercise
from labkit.fpga.judging.rtl_exercise import Drive, rtl_exercise
from labkit.fpga.simulate import Simulation
from labkit_lessons.fpga.the_overlay import solutions
from labkit_lessons.fpga.the_overlay.wrong import send_rows as wrong_writes

# --- fpga.send_rows


def writes(base: int, address: int, x: np.ndarray, first: int, count: int) -> tuple:
    """The addresses and values of the three writes, in their order."""
    row = x.shape[1] * x.itemsize
    addresses = np.array([base, base + 0x18, base + 0x28])
    return addresses, np.array([1, address + first * row, count * row])


def pictures(
    rng: np.random.Generator, rows: int, columns: int, kind: str, first: int, count: int
) -> tuple:
    """A DMA's base, a buffer's address, x[rows,columns] that lies there, and which rows of it."""
    base = 0x4000_0000 + 0x1_0000 * int(rng.integers(1, 1000))
    address = 0x1800_0000 + 0x1000 * int(rng.integers(1, 1000))
    x = rng.permutation(rows * columns).reshape(rows, columns).astype(kind)
    return base, address, x, first, count


PICTURES = {  # rows and columns of x, its type, the first row and how many
    "the last rows": (5, 12, "u2", 2, 3),
    "one byte": (1, 1, "u1", 0, 1),
    "one row of three": (3, 4, "u1", 1, 1),
    "the first rows": (7, 8, "u4", 0, 3),
    "a prime number of columns": (6, 11, "u8", 4, 1),
    "all rows": (5, 12, "u4", 0, 5),
}
FIRST_ROWS = {}  # x.shape -> first and count in the first such case
for rows, columns, _, *which in PICTURES.values():
    FIRST_ROWS.setdefault((rows, columns), which)

send_rows = exercise(
    "fpga.send_rows",
    oracle=writes,
    cases=cases_of(PICTURES, pictures),
    wrong={
        "elements": wrong_writes.elements,
        "same_rows": lambda base, address, x, *_: writes(base, address, x, *FIRST_ROWS[x.shape]),
        **by_own_name(
            wrong_writes.start_in_elements,
            wrong_writes.length_in_elements,
            wrong_writes.four_bytes,
            wrong_writes.bits,
            wrong_writes.never_run,
            wrong_writes.from_the_start,
            wrong_writes.to_the_end,
            wrong_writes.receives,
            wrong_writes.rows_added,
            wrong_writes.up_to_the_last,
            wrong_writes.last_byte,
            wrong_writes.end_address,
            wrong_writes.to_the_row,
            wrong_writes.in_words,
            wrong_writes.decimal,
        ),
        "eight_bytes": wrong_writes.rows_of(lambda x: 8),
        "two_bytes": wrong_writes.rows_of(lambda x: 2 * x.shape[1]),
        "length_first": wrong_writes.length_first,
        "offsets": wrong_writes.offsets,
        "last_row": wrong_writes.last_row,
    },
    outputs=("addresses", "values"),
    dtype="int",
    rtol=0.0,  # addresses are long numbers
    atol=0.0,
    forbidden=LIBRARIES,
)

# --- fpga.through_dma

INVERT = """
module invert (
  input  logic clk, rst, in_valid, in_last, out_ready,
  output logic in_ready, out_valid, out_last,
  input  logic [31:0] in_data,
  output logic [31:0] out_data);
  assign in_ready = !out_valid || out_ready;
  always_ff @(posedge clk)
    if (rst) out_valid <= 0;
    else if (in_ready) begin
      out_valid <= in_valid;
      out_last  <= in_last;
      out_data  <= ~in_data;
    end
endmodule
"""


@cache
def inverter(length_bits: int) -> Design:
    """Inverts each word of 32 bits; its DMA's LENGTH register has so many bits."""
    return Design(INVERT, "invert", engine="cxxrtl", length_bits=length_bits)


def in_it(x: np.ndarray) -> Design:
    """A DMA that takes 127 bytes at once for few words, and 255 or 511 for more."""
    return inverter(7 + (len(x) > 60) + (len(x) > 150))


def most_words(x: np.ndarray) -> int:
    """How many words of x go into one transfer on the case's board."""
    return ((1 << in_it(x).length_bits) - 1) // x.itemsize


def first_piece(x: np.ndarray) -> np.ndarray:
    """As if only the first transfer were made, and the rest stayed 0."""
    found = np.zeros_like(x)
    found[: most_words(x)] = ~x[: most_words(x)]
    return found


def first_pieces(x: np.ndarray) -> np.ndarray:
    """As if every transfer sent the first words again."""
    found = np.empty_like(x)
    for start in range(0, len(x), most_words(x)):
        part = found[start : start + most_words(x)]
        part[:] = ~x[: len(part)]
    return found


def whole_pieces(x: np.ndarray) -> np.ndarray:
    """As if a last piece that is shorter were left out."""
    whole = len(x) // most_words(x) * most_words(x)
    return np.where(np.arange(len(x)) < whole, ~x, 0).astype(x.dtype)


def one_place(x: np.ndarray) -> np.ndarray:
    """As if every piece were copied to the beginning of y."""
    found = np.zeros_like(x)
    for start in range(0, len(x), most_words(x)):
        part = ~x[start : start + most_words(x)]
        found[: len(part)] = part
    return found


def of_the_example(x: np.ndarray) -> np.ndarray:
    """As if each transfer could have 63 words; raises what pynq raises."""
    if min(len(x), 63) > most_words(x):
        raise ValueError
    return ~x


def unsent(board: PrivateBoard, x: np.ndarray) -> str | None:
    """What is wrong where not all words went through the module, or in too many transfers."""
    ended = [event.what for event in board.machine.traffic.events() if event.kind == "ends"]
    moved = sum(int(what.split()[0].replace(",", "")) for what in ended)
    sent = np.frombuffer(b"".join(board.sent), np.uint8)
    if moved < 2 * x.nbytes or not np.isin(x, sent[: len(sent) // 4 * 4].view(x.dtype)).all():
        return (
            "The result is right, but the words did not go through the module: send x, and return "
            "what is received."
        )
    fewest = -(-len(x) // most_words(x))
    if len(ended) > 2 * fewest:
        return (
            f"The result is right, but {len(ended) // 2} transfers were made in each direction, "
            f"where {fewest} {are(fewest)} enough: send as many words at once as fit."
        )
    return None


through_dma = board_exercise(
    "fpga.through_dma",
    design=in_it,
    given=lambda overlay: (overlay.axi_dma_0,),
    solution=solutions.through_dma,
    oracle=lambda x: ~x,
    cases=cases_of(
        # Lengths that need one piece, and those that need several, are both odd and even.
        {"one word": (1,), "even": (8,), "full": (31,), "one more": (32,), "ragged": (149,)}
        | {"many": (500,)},
        lambda rng, n: (rng.permutation(2**16)[:n].astype("u4") * 65_521 + 1,),
    ),
    wrong={
        "not_received": lambda x: x,
        **by_own_name(first_piece, first_pieces, whole_pieces, one_place, of_the_example),
    },
    demand=unsent,
)

# --- fpga.brighten


def pixels(rng: np.random.Generator, n: int, amount: int) -> tuple[np.ndarray, int, int]:
    """x[n] of all brightnesses, both ends among them; the amount; the length of a packet."""
    x = rng.permutation(256)[:n].astype(np.uint8)
    if n > 10:
        x[[1, 5, 6]] = 255 - amount, 0, 255
    return x, amount, max(1, n // 2)


def ends(x: np.ndarray, packet: int) -> np.ndarray:
    """1 with the last word of each packet, and with the very last; a packet of 0 has no end."""
    if packet == 0:
        return np.zeros(len(x), int)
    last = np.arange(1, len(x) + 1) % packet == 0
    last[-1] = True
    return last.astype(int)


def drive(x: np.ndarray, amount: int, packet: int) -> Drive:
    """The packets, one behind the other."""
    inputs = {"in": x, "in_last": ends(x, packet), "amount": amount}
    return Drive(inputs, words={"out": len(x)})


def read(simulation: Simulation, *inputs: object) -> tuple[np.ndarray, np.ndarray]:
    """The words, and the `last` of each."""
    return simulation.outputs["out"], simulation.lasts["out"]


def brightened(x: np.ndarray, amount: int, packet: int) -> tuple[np.ndarray, np.ndarray]:
    """What comes out: the pixels, and where a packet ends."""
    return np.minimum(x.astype(int) + amount, 255), ends(x, packet)


def with_pixels(compute: object) -> object:
    """A wrong idea of the pixels, with the right ends of packets."""
    return lambda x, amount, packet: (compute(x.astype(int), amount), ends(x, packet))


def with_last(compute: object) -> object:
    """A wrong idea of where packets end, with the right pixels."""
    return lambda x, amount, packet: (brightened(x, amount, packet)[0], compute(ends(x, packet)))


WRONG = dict(
    wraps=with_pixels(lambda x, amount: (x + amount) % 256),
    unchanged=with_pixels(lambda x, amount: x),
    one_less=with_pixels(lambda x, amount: np.where(x + amount >= 255, 254, x + amount)),
    darker=with_pixels(lambda x, amount: np.maximum(x - amount, 0)),
    always_white=with_pixels(lambda x, amount: np.full_like(x, 255)),
    turned=with_pixels(lambda x, amount: np.where(x < 255 - amount, 255, (x + amount) % 256)),
    joined=with_pixels(lambda x, amount: x | amount),
    top_bits=with_pixels(
        lambda x, amount: np.where((x > 127) & (amount > 127), 255, (x + amount) % 256)
    ),
    with_signs=with_pixels(
        lambda x, amount: np.where(
            x.astype(np.int8) > np.int64(255 - amount).astype(np.int8), 255, (x + amount) % 256
        )
    ),
    stays_last=with_last(np.maximum.accumulate),
    late_last=with_last(lambda last: np.append(0, last[:-1])),
    no_last=with_last(np.zeros_like),
    always_last=with_last(np.ones_like),
    early_last=with_last(lambda last: np.append(last[1:], 0)),
    early_last_kept=with_last(lambda last: np.append(last[1:], last[-1])),  # without in_valid
)

brighten = rtl_exercise(
    "fpga.brighten",
    top="brighten",
    solution=solutions.brighten,
    drive=drive,
    read=read,
    cases=cases_of(
        {"one word": (1, 5), "two": (2, 100), "prime": (11, 40), "twenty": (20, 255)}
        | {"nothing added": (23, 0), "many": (61, 128)},
        pixels,
    ),
    oracle=brightened,
    wrong=WRONG,
    outputs=("out_data", "out_last"),
    cycles=lambda x, amount, packet: len(x) + 2,
    keeps=1,
    early_ready=True,
    gates={"ff": 24, "lut": 60, "dsp": 0},
)

EXERCISES = [send_rows, through_dma, brighten]
