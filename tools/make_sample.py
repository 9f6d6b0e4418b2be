"""Make the embedded sample of CIFAR-10 again, from a full copy: train.png, test.png, index.json.

    .venv/bin/python tools/make_sample.py COPY FOLDER

`labkit.cifar10_files.load_sample` says what the files hold, and reads them.
"""

import json
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from labkit.cifar10_files import Split, mosaic, read_copy

PER_CLASS = {"train": 200, "test": 50}


def first_of_each_class(labels: np.ndarray, count: int) -> np.ndarray:
    """Indices, ascending, of the first `count` images of each of the ten classes."""
    first = [np.flatnonzero(labels == label)[:count] for label in range(10)]
    return np.sort(np.concatenate(first))


def make_sample(train: Split, test: Split, folder: str | Path) -> None:
    """Write train.png, test.png and index.json of the sample of a full set into a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    index = {}
    for name, split in (("train", train), ("test", test)):
        chosen = first_of_each_class(split.labels, PER_CLASS[name])
        Image.fromarray(mosaic(split.images[chosen])).save(folder / f"{name}.png", optimize=True)
        index[name] = {"indices": chosen.tolist(), "labels": split.labels[chosen].tolist()}
    (folder / "index.json").write_text(json.dumps(index) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Usage: python tools/make_sample.py COPY FOLDER")
    make_sample(*read_copy(sys.argv[1]), sys.argv[2])
