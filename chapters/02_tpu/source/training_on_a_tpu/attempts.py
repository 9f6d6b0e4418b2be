"""What a replica gets, and a claim's code, run as printed with its real error."""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keras import Model
    from tensorflow.data import Dataset
    from tensorflow.distribute import Strategy

WIDTH = 88  # characters of a line of an error


def shares(devices: Strategy, batch: tuple) -> None:
    """Prints what each replica has of a dealt batch (x, labels, weights, totals)."""
    x, labels, weights, _ = map(devices.experimental_local_results, batch)
    for r in range(len(x)):
        weight = sum(weights[r].numpy())
        print(f"replica {r}: x {x[r].shape}, labels {labels[r].numpy()}, weights' sum {weight:g}")


def attempt(code: str, names: Mapping[str, object]) -> None:
    """Prints the code, runs it with these names, and prints its error, without addresses."""
    print(">>>", code)
    try:
        with warnings.catch_warnings(action="ignore"):
            exec(code, names)
    except Exception as error:
        words = re.sub(r"<\S+\.(\w+) object at \w+>", r"\1", str(error))
        for line in f"{type(error).__name__}: {words}".splitlines():
            print(textwrap.fill(line, WIDTH))


def compiled(model: Model) -> Model:
    """The model, compiled for `fit` with the lesson's loss and optimizer."""
    import keras

    from labkit.tpu import same_run

    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(same_run.RATE, momentum=same_run.MOMENTUM), loss)
    return model


def fit(model: Model, pairs: Dataset) -> float:
    """`model.fit` on the first four batches of 64; the mean loss of its four steps."""
    four = pairs.take(4 * 64).batch(64, drop_remainder=True)
    return model.fit(four, shuffle=False, verbose=0).history["loss"][0]
