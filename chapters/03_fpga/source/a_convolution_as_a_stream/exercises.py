"""The exercises of the lesson: a line buffer, and what decides when a window makes a step."""

import numpy as np

from labkit.checks.lesson_files import by_own_name, cases_of
from labkit.fpga import cycle_formulas as formulas
from labkit.fpga.integers.packing import unpack
from labkit.fpga.judging.rtl_exercise import Drive, rtl_exercise
from labkit.fpga.library import library
from labkit_lessons.fpga.a_convolution_as_a_stream import solutions
from labkit_lessons.fpga.a_convolution_as_a_stream.wrong import window_control as wrong_windows

# fpga.line_buffer: x int8[n], length -> the word of `length` steps ago, int64[n]

# Its defaults are a row of a Full HD picture, border included: the row whose gates are counted.
ROW_ABOVE = """
module row_above #(
  parameter int WIDTH  = 24,
  parameter int LENGTH = 1921
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             x_valid,
  output logic             x_ready,
  input  logic [WIDTH-1:0] x_data,
  output logic             y_valid,
  input  logic             y_ready,
  output logic [WIDTH-1:0] y_data
);
  assign x_ready = y_ready;
  assign y_valid = x_valid;
  line_buffer #(
    .WIDTH (WIDTH),
    .LENGTH(LENGTH)
  ) u_line_buffer (
    .clk (clk),
    .rst (rst),
    .step(x_valid && y_ready),
    .d   (x_data),
    .q   (y_data)
  );
endmodule
"""
ROWS = {  # how many words, and how long a row is
    "one word": (1, 2),
    "two": (2, 2),
    "a short row": (7, 2),
    "a prime number of words": (19, 5),
    "many": (60, 5),
    "a row of a power of two": (41, 8),
}


def words_and_length(rng: np.random.Generator, n: int, length: int) -> tuple[np.ndarray, int]:
    """n different words of both signs, the smallest and the largest first; how long a row is."""
    words = rng.permutation(np.arange(-127, 127))[:n].astype(np.int8)
    words[:2] = (127, -128)[: min(n, 2)]
    return words, length


def of_steps_ago(x: np.ndarray, steps: int, length: int) -> np.ndarray:
    """What came `steps` steps before each word; 0 in the first row, and where nothing came."""
    found = np.zeros(len(x), np.int64)
    if steps < len(x):
        found[steps:] = x[: len(x) - steps]
    found[:length] = 0
    return found


def row_of(simulation, x: np.ndarray, length: int) -> np.ndarray:
    """The words that came out, as signed bytes; those of the first row mean nothing."""
    words = unpack(simulation.outputs["y"], 1, 8)[:, 0]
    words[:length] = 0
    return words


line_buffer = rtl_exercise(
    "fpga.line_buffer",
    top="row_above",
    solution=solutions.SOLUTIONS["fpga.line_buffer"],
    support=[ROW_ABOVE],
    drive=lambda x, length: Drive({"x": x[:, None]}, {"y": len(x)}, {"WIDTH": 8, "LENGTH": length}),
    read=row_of,
    cases=cases_of(ROWS, words_and_length),
    oracle=lambda x, length: of_steps_ago(x, length, length),
    wrong={
        "one_step_late": lambda x, length: of_steps_ago(x, length + 1, length),
        "one_step_early": lambda x, length: of_steps_ago(x, max(length - 1, 2), length),
        "one_word": lambda x, length: of_steps_ago(x, 1, length),
        "passed_on": lambda x, length: of_steps_ago(x, 0, length),
        "one_too_long": lambda x, length: of_steps_ago(
            x, length + bool(length & length - 1), length
        ),
        "power_of_two": lambda x, length: of_steps_ago(x, 1 << (length - 1).bit_length(), length),
    },
    gates={"lut": 40, "bram36": 2},
    gate_parameters={"WIDTH": 24, "LENGTH": 1921},
)

# fpga.window_control: images int8[N,H,W] -> windows int64[N*H*W, 9]

IMAGES = {  # how many, rows, columns
    "one pixel": (1, 1, 1),
    "two images of a pixel": (2, 1, 1),
    "a prime number of pixels": (7, 1, 1),
    "4 x 4, as in the lesson": (1, 4, 4),
    "two of them": (2, 4, 4),
    "three images of 3 x 5": (3, 3, 5),
}
PARTS = [path for path in library("window_3x3") if path.stem != "window_control"]


def images(rng: np.random.Generator, N: int, H: int, W: int) -> tuple[np.ndarray]:
    """Different pixels of both signs, none of them 0, the largest and the smallest first."""
    values = np.setdiff1d(np.arange(-127, 127), 0)
    pixels = rng.permutation(values)[: N * H * W].astype(np.int8)
    pixels[:2] = (127, -128)[: min(pixels.size, 2)]
    return (pixels.reshape(N, H, W),)


def drive_images(x: np.ndarray) -> Drive:
    """The pixels row by row, and a window for each of them."""
    _, H, W = x.shape
    sizes = {"HEIGHT": H, "WIDTH": W, "PIXEL_BITS": 8}
    return Drive({"x": x.reshape(-1, 1)}, {"window": x.size}, sizes)


window_control = rtl_exercise(
    "fpga.window_control",
    top="window_3x3",
    solution=solutions.SOLUTIONS["fpga.window_control"],
    support=PARTS,
    drive=drive_images,
    read=lambda simulation, x: unpack(simulation.outputs["window"], 9, 8),
    cases=cases_of(IMAGES, images),
    oracle=wrong_windows.right,
    wrong=by_own_name(
        wrong_windows.every_position,
        wrong_windows.first_column_too,
        wrong_windows.first_row_too,
        wrong_windows.one_step_early,
        wrong_windows.corner_alone,
        wrong_windows.not_at_border,
    ),
    cycles=lambda x: formulas.window_cycles(*x.shape[1:], images=len(x)),
    keeps=1,
    early_ready=True,
    outputs=("window",),
)

EXERCISES = [line_buffer, window_control]
