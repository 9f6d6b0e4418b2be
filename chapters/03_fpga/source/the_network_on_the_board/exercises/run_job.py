"""Exercise fpga.run_job: a job through registers and a DMA."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of
from labkit.fpga.board import designs
from labkit.fpga.board.design import Design
from labkit.fpga.board.private import PrivateBoard
from labkit.fpga.judging.board_exercise import board_exercise
from labkit.fpga.library import library
from labkit_lessons.fpga.the_network_on_the_board import solutions

WORDS = 5  # of an image's result


@cache
def small_accelerator(beats: int) -> Design:
    """The registers and streams of the lesson's; an image has so many words, which are added."""
    bench = Path(solutions.__file__).with_name("small_accelerator.sv")
    # As `designs.convnet` has them: the same names at the same offsets.
    registers = designs.convnet().registers
    source = [bench, *library("control_registers", "job_control")]
    return Design(source, "accelerator", {"BEATS": beats}, registers, engine="cxxrtl")


def job(rng: np.random.Generator, images: int, beats: int) -> tuple[np.ndarray, int]:
    """The words of a job, and how many images it has."""
    return rng.integers(2**63, size=images * beats, dtype="u8"), images


def results(words: np.ndarray, images: int) -> np.ndarray:
    """The sum of an image's words in two halves, times 1, 2, 3, 4 and 5."""
    sums = words.reshape(images, -1).sum(axis=1, dtype="u8")
    halves = np.stack([sums, sums >> 32], axis=1).astype("u4")
    factors = np.arange(1, WORDS + 1, dtype="u4")
    return (halves[:, None] * factors[:, None]).reshape(images, 2 * WORDS).view("i4")


def of_other_images(words: np.ndarray, images: int) -> bool:
    """Whether a job of three images came before; that is so before one of a single large image."""
    return images == 1 < len(words)


def kept_number(words: np.ndarray, images: int) -> np.ndarray:
    """As if a job of one image left IMAGES as it is: it ends with a word of zeros."""
    return results(words, images) * (not of_other_images(words, images))


def first_image(words: np.ndarray, images: int) -> np.ndarray:
    """As if only one image came: the rest stays 0."""
    found = kept_number(words, images)
    found[1:] = 0
    return found


def words_counted(words: np.ndarray, images: int) -> np.ndarray:
    """As if IMAGES were the number of words: a last image that ends the job has only zeros."""
    found = results(words, images)
    found[-1] *= len(words) == images
    return found


def halves_swapped(words: np.ndarray, images: int) -> np.ndarray:
    """The upper half of each word first."""
    return results(words, images).reshape(-1, 2)[:, ::-1].reshape(images, 2 * WORDS)


def after_a_job(overlay: Any, words: np.ndarray, images: int) -> None:
    """The job that came before has left the number of its images."""
    if of_other_images(words, images):
        overlay.accelerator_0.register_map.IMAGES = 3


def several_jobs(board: PrivateBoard, words: np.ndarray, images: int) -> str | None:
    """What is wrong where more than one transfer was made in a direction."""
    ended = [event for event in board.machine.traffic.events() if event.kind == "ends"]
    if len(ended) > 2:
        return (
            f"The result is right, but {len(ended)} transfers were made. One job is asked for, in "
            "one transfer to the accelerator and one back: with the network's weights, each "
            "further job would bring them again."
        )
    return None


run_job = board_exercise(
    "fpga.run_job",
    design=lambda words, images: small_accelerator(len(words) // images),
    given=lambda overlay: (overlay.accelerator_0, overlay.axi_dma_0),
    before=after_a_job,
    solution=solutions.run_job,
    oracle=results,
    cases=cases_of(
        {
            "one image": (1, 1),
            "two": (2, 1),
            "prime": (7, 1),
            "ragged": (33, 3),
            "many": (100, 1),
        }
        | {"one large image": (1, 3)},
        job,
    ),
    wrong={
        **by_own_name(first_image, kept_number, words_counted, halves_swapped),
        "transposed": lambda words, images: results(words, images).reshape(2 * WORDS, images).T,
    },
    demand=several_jobs,
    dtype="int32",
    forbidden=(*LIBRARIES, "labkit.fpga.board.convnet_overlay"),
)
