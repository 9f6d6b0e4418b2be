"""A picture of this lesson: photographs with the network's answers, the wrong ones framed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labkit.datasets import Cifar10
from labkit.figures.charts import image_grid


def show(data: Cifar10, answers: np.ndarray, places: Sequence[int]) -> None:
    """The test photographs at these places; `answers` has the network's class for each of all."""
    captions = []
    wrong = []
    for place in places:
        answer = data.class_names[answers[place]]
        truth = data.class_names[data.test.labels[place]]
        wrong.append(answer != truth)
        captions.append(f"{answer},\nis {truth}" if answer != truth else answer)
    alt = (
        f"{len(wrong)} test photographs with the network's answers; "
        f"{sum(wrong)} of the answers are wrong."
    )
    image_grid(data.test.images[list(places)], captions, wrong, alt)
