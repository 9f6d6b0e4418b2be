"""The embedded sample of CIFAR-10, and the full set as its makers publish it, read without trust.

The "python version" is a tar.gz with a folder cifar-10-batches-py: five training batches and a
test batch, each a pickle of {b"data": uint8[10000,3072], b"labels": list of int}. A row of data is
the red, the green and the blue plane of one 32 x 32 image. A pickle can run any program when it is
loaded, so `_Careful` builds nothing but arrays, dicts, lists, bytes, strings and numbers.
"""

import codecs
import hashlib
import io
import json
import pickle
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FOLDER = "cifar-10-batches-py"
SAMPLE = Path(__file__).parent / "data" / "cifar10"
TILES = 50  # images in a row of the mosaic
BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")


@dataclass(frozen=True, eq=False)
class Split:
    """Images uint8[N,3,32,32] (red, green, blue), and the class of each, labels int64[N]."""

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)


def fingerprint(train: Split, test: Split) -> str:
    """SHA-256 of the pixels (training, then test; bytes in N,C,H,W order), then of the labels."""
    digest = hashlib.sha256()
    for part in (train.images, test.images, train.labels, test.labels):
        digest.update(np.ascontiguousarray(part, dtype=np.uint8).data)
    return digest.hexdigest()


def in_a_line(error: Exception) -> str:
    """What an exception says, to be put between brackets: never empty, never two lines."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(":. ")


def load_sample(folder: Path = SAMPLE) -> tuple[Split, Split]:
    """Training and test images of the sample: the first 200 and 50 of each class.

    They are the tiles of one lossless PNG each, in the official order, 50 to a row; index.json has
    their labels and their places in the full set. tools/make_sample.py wrote the files.
    """
    from PIL import Image

    splits, index = [], json.loads((folder / "index.json").read_text())
    for name in ("train", "test"):
        with Image.open(folder / f"{name}.png") as mosaic:
            tiles = np.asarray(mosaic).reshape(-1, 32, TILES, 32, 3)  # [row, y, tile, x, colour]
        images = np.ascontiguousarray(tiles.transpose(0, 2, 4, 1, 3)).reshape(-1, 3, 32, 32)
        splits.append(Split(images, np.array(index[name]["labels"], dtype=np.int64)))
    return splits[0], splits[1]


def read_copy(path: str | Path) -> tuple[Split, Split]:
    """Training and test images of a copy: the folder, the folder around it, or the tar.gz.

    Raises FileNotFoundError when a file is missing, ValueError when one cannot be decoded.
    """
    path = Path(path).expanduser()
    files, batches = _files(path), []
    if missing := [name for name in BATCHES if name not in files]:
        raise FileNotFoundError(
            f"{path} is no copy of CIFAR-10: {', '.join(missing)} not found. Give the folder "
            f"{FOLDER}, the folder around it, or the official cifar-10-python.tar.gz."
        )
    for name in BATCHES:
        try:
            batches.append(_decode(files.pop(name)))
        except Exception as error:  # damaged pickles fail in every way there is
            reason = in_a_line(error)
            raise ValueError(f"{name} in {path} cannot be decoded: {reason}.") from error
    *train, test = batches
    images = np.concatenate([batch.images for batch in train])
    return Split(images, np.concatenate([batch.labels for batch in train])), test


def _files(path: Path) -> dict[str, bytes]:
    """The batches' files that are there, by name."""
    if not path.is_file():
        folder = path / FOLDER if (path / FOLDER).is_dir() else path
        return {n: (folder / n).read_bytes() for n in BATCHES if (folder / n).is_file()}
    try:
        with tarfile.open(path) as archive:
            members = {Path(member.name).name: member for member in archive if member.isfile()}
            return {n: archive.extractfile(members[n]).read() for n in BATCHES if n in members}
    except Exception as error:  # so do damaged archives
        raise ValueError(f"{path} is no whole tar archive ({in_a_line(error)}).") from error


def _decode(content: bytes) -> Split:
    """One pickled batch, whatever protocol and Python it was written with."""
    try:
        batch = _Careful(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:
        raise ValueError(f"no whole pickle of a batch ({in_a_line(error)}).") from error
    if not isinstance(batch, dict):
        raise ValueError(f"it holds a {type(batch).__name__} and not a dict.")
    batch = {key.decode() if isinstance(key, bytes) else key: value for key, value in batch.items()}
    data, labels = np.asarray(batch.get("data")), np.asarray(batch.get("labels"))
    if data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != 3072:
        raise ValueError(f"its data are {data.dtype}{list(data.shape)} and not uint8[N,3072].")
    if labels.shape != data.shape[:1] or labels.dtype.kind not in "iu":
        raise ValueError(f"its labels are {labels.dtype}{list(labels.shape)}, not one per image.")
    return Split(data.reshape(-1, 3, 32, 32), labels.astype(np.int64))


_BUILDERS = {
    "numpy.ndarray": np.ndarray,
    "numpy.dtype": np.dtype,
    "_codecs.encode": codecs.encode,  # how protocol 2 writes bytes
    "numpy.core.multiarray._reconstruct": lambda *_: np.empty(0, np.uint8),  # is filled next
    "numpy.core.numeric._frombuffer": lambda buffer, dtype, shape, order: (  # protocol 5
        np.frombuffer(buffer, dtype).reshape(shape, order=order)
    ),
}


class _Careful(pickle.Unpickler):
    """Unpickles arrays and plain values; everything else a pickle may ask for is refused."""

    def find_class(self, module: str, name: str) -> object:
        wanted = f"{module}.{name}".replace("numpy._core.", "numpy.core.")  # NumPy 2 and 1
        if wanted not in _BUILDERS:
            raise pickle.UnpicklingError(f"it asks for {wanted}, which no batch needs")
        return _BUILDERS[wanted]
