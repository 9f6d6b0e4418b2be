"""A picture of this lesson: a photograph, and what some kernels of a layer answer to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labkit.figures.style import canvas, show


def draw(image: np.ndarray, outputs: np.ndarray, kernels: Sequence[int]) -> None:
    """A photograph uint8 [3,H,W], and the outputs [K,P,Q] of these kernels, behind a ReLU.

    The more an output answers, the darker it is; where the ReLU makes it 0, it is white.
    """
    figure, axes = canvas(7.5, 2.6, 1, 1 + len(kernels))
    axes[0].imshow(image.transpose(1, 2, 0))
    axes[0].set_title("photograph", fontsize=10)
    said = []
    for place, kernel in zip(axes[1:], kernels, strict=True):
        answers = np.maximum(outputs[kernel], 0)
        place.imshow(answers, cmap="gray_r")
        place.set_title(f"kernel {kernel}", fontsize=10)
        said.append(f"kernel {kernel} answers at {np.mean(answers > 0):.0%} of the places")
    for place in axes:
        place.set_xticks([])
        place.set_yticks([])
    show(figure, f"A photograph, and where the layer's kernels answer to it: {'; '.join(said)}.")
