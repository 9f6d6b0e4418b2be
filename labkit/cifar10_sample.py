"""The embedded sample of CIFAR-10: the first 200 training and 50 test images of each class.

The images of a split are the tiles of one lossless PNG, in the official order, 50 tiles to a row.
`index.json` has their labels and their places in the full set. From a full copy,
`python -m labkit.cifar10_sample COPY FOLDER` makes the three files again.
"""

import json
import sys
from pathlib import Path

import numpy as np

from labkit.cifar10_files import Split, read_copy

SAMPLE = Path(__file__).parent / "data" / "cifar10"
PER_CLASS = {"train": 200, "test": 50}
TILES = 50  # images in a row of the mosaic


def first_of_each_class(labels: np.ndarray, count: int) -> np.ndarray:
    """Indices, ascending, of the first `count` images of each of the ten classes."""
    return np.sort(np.concatenate([np.flatnonzero(labels == c)[:count] for c in range(10)]))


def make_sample(train: Split, test: Split, folder: str | Path) -> None:
    """Write train.png, test.png and index.json of the sample of a full set into a folder."""
    from PIL import Image

    folder, index = Path(folder), {}
    folder.mkdir(parents=True, exist_ok=True)
    for name, split in (("train", train), ("test", test)):
        chosen = first_of_each_class(split.labels, PER_CLASS[name])
        Image.fromarray(_mosaic(split.images[chosen])).save(folder / f"{name}.png", optimize=True)
        index[name] = {"indices": chosen.tolist(), "labels": split.labels[chosen].tolist()}
    (folder / "index.json").write_text(json.dumps(index) + "\n")


def load_sample(folder: str | Path = SAMPLE) -> tuple[Split, Split]:
    """The sample's training and test images."""
    from PIL import Image

    folder, splits = Path(folder), []
    index = json.loads((folder / "index.json").read_text())
    for name in ("train", "test"):
        with Image.open(folder / f"{name}.png") as mosaic:
            images = _tiles(np.asarray(mosaic))
        splits.append(Split(images, np.array(index[name]["labels"], dtype=np.int64)))
    return splits[0], splits[1]


def _mosaic(images: np.ndarray) -> np.ndarray:
    """images[N,3,32,32] -> one picture [N/50*32, 50*32, 3]; N is a multiple of 50."""
    grid = images.reshape(-1, TILES, 3, 32, 32)  # [row of tiles, tile, colour, y, x]
    return grid.transpose(0, 3, 1, 4, 2).reshape(-1, TILES * 32, 3)


def _tiles(mosaic: np.ndarray) -> np.ndarray:
    """The inverse of `_mosaic`."""
    grid = mosaic.reshape(-1, 32, TILES, 32, 3)  # [row of tiles, y, tile, x, colour]
    return np.ascontiguousarray(grid.transpose(0, 2, 4, 1, 3)).reshape(-1, 3, 32, 32)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Usage: python -m labkit.cifar10_sample COPY FOLDER")
    make_sample(*read_copy(sys.argv[1]), sys.argv[2])
