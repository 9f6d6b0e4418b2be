"""What the compiler says of memory, as sums and as bars. Lesson what_fills_the_memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from labkit.figures.style import BLUE, INK, ORANGE, canvas, show
from labkit.hardware import this_machine

if TYPE_CHECKING:
    from labkit.tpu.compiler import Compiled, TPUOutOfMemory

GIB = 2**30
MIB = 2**20
HBM = 15.75  # GiB of a v5e that the compiler gives to a program


def at_once(made: Compiled) -> int:
    """Bytes of arguments, results and temporary arrays, what shares a place once."""
    memory = made.memory
    shared = memory.get("alias", 0)
    results = memory["output"] - shared
    return memory["argument"] + results + memory["temp"]


def what_is_left(f: Callable, donate: tuple[int, ...], count: int) -> str:
    """JAX's own words where an argument is read that was donated to `f` before, on this CPU."""
    import jax

    if not this_machine().has_tpu:
        jax.config.update("jax_platforms", "cpu")  # libtpu alone would look for a TPU
    arguments = [jax.numpy.ones(4) for _ in range(count)]
    jax.block_until_ready(jax.jit(f, donate_argnums=donate)(*arguments))
    try:
        return str(np.asarray(arguments[donate[0]]))
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"


def told(error: TPUOutOfMemory) -> str:
    """What does not fit, in lines, without the compiler's version and date."""
    return fill(str(error).partition(" (snapshot")[0], 96)


def bars(predicted: Mapping[int, float], compiled: Mapping[int, float | None]) -> None:
    """GiB of temporary arrays for each size of a block, predicted and compiled; None: refused."""
    figure, axes = canvas(7.5, 3.0)
    places = np.arange(len(predicted))
    guessed = list(predicted.values())
    axes.bar(places - 0.2, guessed, 0.38, color=BLUE, label="predicted by your function")
    right = places + 0.2
    known = [value or 0 for value in compiled.values()]
    axes.bar(right, known, 0.38, color=ORANGE, label="compiled")
    for place, value in zip(right, known, strict=True):
        if not value:
            axes.text(place, 0.3, "refused", rotation=90, ha="center", fontsize=9)
    axes.axhline(HBM, color=INK, linewidth=1, linestyle=":")
    axes.text(places.mean(), HBM + 0.2, "a v5e's memory", ha="center", va="bottom", fontsize=9)
    axes.set_xticks(places, [str(block) for block in predicted])
    axes.set_xlabel("layers in a block")
    axes.set_ylabel("GiB of temporary arrays")
    axes.set_ylim(0, 21.5)
    axes.legend(loc="upper center", ncols=2, fontsize=9, frameon=False)
    said = []
    for block, value in compiled.items():
        result = "refused" if value is None else f"{value:.2f}"
        said.append(f"blocks of {block}: {predicted[block]:.0f} predicted, {result}")
    show(figure, f"GiB of temporary arrays, predicted and compiled. {'; '.join(said)}.")
