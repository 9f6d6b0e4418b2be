"""sigma as a table in block RAM: what it holds, how wrong it can be, and its SystemVerilog.

sigma(x) = 1 / (1 + e^-x) has no cheap circuit, but as a table it takes one clock cycle:

    input    a 16-bit integer q, which stands for x = q / 2^f, f = fraction_bits
    address  q limited to [-8, 8), in equal steps: `entries` of them, a power of two
    output   a byte p, which stands for sigma(x) = p / top;  top is 255, or 127 for an int8 layer

An entry serves all the inputs of its step, so it is made for the middle of them. How far is the
answer from sigma? The slope of sigma is sigma (1 - sigma), at most 1/4, so that

    step        the farthest of g inputs is (g - 1)/2 units of 2^-f from their middle
                                                        error at most (g - 1)/2 2^-f / 4
    saturation  outside [-8, 8) the outermost entry answers, made for a middle m near 8 or -8;
                from there on, sigma has left to 1 or 0     error at most 1 - sigma(m), m near 8
    rounding    the nearest of the bytes 0..top          error at most 1 / (2 top)

An input is either inside or outside, so the larger of the first two counts, plus the third. A real
number that is first rounded to the nearest q adds half a unit, 2^-f / 8.
Lesson int8_from_the_formula derives it.
"""

from dataclasses import dataclass

import numpy as np

from labkit.shapes import fit_integer

SPAN = 8  # the table covers -SPAN <= x < SPAN
INPUT_BITS = 16
ENTRY_BITS = 8
IN_A_LINE = 8  # entries in one line of SystemVerilog


def sigma(x: np.ndarray | float) -> np.ndarray:
    """1 / (1 + e^-x) in float64, without overflow at either end."""
    return 0.5 * (1 + np.tanh(0.5 * np.asarray(x, dtype=np.float64)))


@dataclass(frozen=True)
class SigmaTable:
    """sigma for 16-bit inputs with `fraction_bits` behind the point, as `entries` bytes.

    2,048 entries of a byte are 16,384 bits: the whole data part of one RAMB18 in its form 2K x 8.
    Raises ValueError for entries that are no power of two from 2 on, for more entries than there
    are inputs in [-8, 8), and for a top beyond a byte.
    """

    entries: int = 2048
    fraction_bits: int = 8
    top: int = 255

    def __post_init__(self) -> None:
        # 8 itself, 2^(fraction_bits + 3), must be a signed number of 16 bits.
        fit_integer("SigmaTable", "fraction_bits", self.fraction_bits, 0, INPUT_BITS - 5)
        fit_integer("SigmaTable", "entries", self.entries, 2, 2 * self._reach)
        fit_integer("SigmaTable", "top", self.top, 1, 255)
        if self.entries & (self.entries - 1):
            raise ValueError(f"SigmaTable: entries is {self.entries}; it must be a power of two.")

    @property
    def inputs_per_entry(self) -> int:
        """g: how many neighbouring inputs share an entry."""
        return 2 * self._reach // self.entries

    @property
    def contents(self) -> np.ndarray:
        """The bytes, uint8[entries]: entry i serves the i-th group of inputs from -8 on."""
        exact = self.top * sigma(self._middles)
        return np.floor(exact + 0.5).astype(np.uint8)

    def address(self, q: np.ndarray) -> np.ndarray:
        """The entries, int64, that answer for the inputs q: integers of 16 bits.

        Raises ValueError for anything else.
        """
        q = np.asarray(q)
        limit = 2 ** (INPUT_BITS - 1)
        if q.dtype.kind not in "iu" or (q.size and (q.min() < -limit or q.max() >= limit)):
            raise ValueError("SigmaTable: inputs are integers of 16 bits, from -32768 to 32767.")
        limited = np.clip(q.astype(np.int64), -self._reach, self._reach - 1)
        return (limited + self._reach) // self.inputs_per_entry

    def __call__(self, q: np.ndarray) -> np.ndarray:
        """uint8 p, with p / top close to sigma(q / 2^fraction_bits)."""
        return self.contents[self.address(q)]

    @property
    def error_bound(self) -> float:
        """|p / top - sigma(q / 2^fraction_bits)| is at most this, for every input q."""
        unit = 2.0**-self.fraction_bits
        step = (self.inputs_per_entry - 1) / 2 * unit / 4
        saturation = 1 - float(sigma(self._middles[-1]))
        rounding = 1 / (2 * self.top)
        return max(step, saturation) + rounding

    @property
    def real_error_bound(self) -> float:
        """The same for a real x that was rounded to the nearest q (16 bits must hold it)."""
        return self.error_bound + 2.0**-self.fraction_bits / 8

    def systemverilog(self, name: str = "sigma_table") -> str:
        """A module with ports clk, q[15:0] signed and p[7:0]; p answers one clock cycle after q.

        The register behind the memory is what block RAM has built in: with it, Yosys makes a
        RAMB18 or RAMB36 of the table; without it, LUTs.
        """
        return _TEMPLATE.format(
            name=name,
            entries=self.entries,
            last=self.entries - 1,
            bits=ENTRY_BITS * self.entries,
            table=_listing(self.contents),
            reach=self._reach,
            address_bits=self.entries.bit_length() - 1,
            drop=self.inputs_per_entry.bit_length() - 1,
            inputs_per_entry=self.inputs_per_entry,
            fraction_bits=self.fraction_bits,
            top=self.top,
        )

    @property
    def _reach(self) -> int:
        """8 in units of the input."""
        return SPAN * 2**self.fraction_bits

    @property
    def _middles(self) -> np.ndarray:
        """The x in the middle of each entry's inputs, float64[entries]."""
        first = np.arange(self.entries) * self.inputs_per_entry - self._reach
        return (first + (self.inputs_per_entry - 1) / 2) / 2**self.fraction_bits


def _listing(contents: np.ndarray) -> str:
    """The bytes as a packed constant lists them, the last entry first."""
    words = [f"8'd{entry}" for entry in contents[::-1]]
    lines = [", ".join(words[at : at + IN_A_LINE]) for at in range(0, len(words), IN_A_LINE)]
    return ",\n        ".join(lines)


_TEMPLATE = """\
// sigma(x) = 1 / (1 + e^-x) in {entries} bytes: x = q / 2^{fraction_bits}, sigma = p / {top}.
module {name} (
    input  logic               clk,
    input  logic signed [15:0] q,
    output logic        [ 7:0] p
);
    localparam logic signed [15:0] REACH = {reach};  // 8 in units of q

    // Entry 0 stands last: it has the low bits.
    localparam logic [{bits}-1:0] TABLE = {{
        {table}
    }};

    (* rom_style = "block" *) logic [7:0] rom [0:{last}];
    initial for (int i = 0; i < {entries}; i++) rom[i] = TABLE[8*i +: 8];

    // Limited to -8 <= x < 8; then counted from -8 on, {inputs_per_entry} to an entry.
    logic signed [15:0] limited;
    always_comb begin
        if (q < -REACH) limited = -REACH;
        else if (q >= REACH) limited = REACH - 16'sd1;
        else limited = q;
    end
    logic [{address_bits}-1:0] address;
    assign address = {address_bits}'((limited + REACH) >>> {drop});

    always_ff @(posedge clk) p <= rom[address];
endmodule
"""
