"""The embedded sample of CIFAR-10, and the full set as its makers publish it, read without trust.

The "python version" is a tar.gz with a folder cifar-10-batches-py: five training batches and a
test batch, each a pickle of {b"data": uint8[10000,3072], b"labels": list of int}. A row of data is
the red, the green and the blue plane of one 32 x 32 image. A pickle can run any program when it is
loaded, so `_Careful` builds nothing but arrays, dicts, lists, bytes, strings and numbers.
"""

import hashlib
import io
import json
import pickle
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labkit.errors import in_a_line

FOLDER = "cifar-10-batches-py"
SAMPLE = Path(__file__).parent / "data" / "cifar10"
SAMPLE_SHA256 = "01d609fbfb29835b2ca17052dd3fc956144b6a536f0ee38411ac9edeed153187"  # `fingerprint`
TILES = 50  # images in a row of the mosaic
TRAINING_BATCHES = [f"data_batch_{i}" for i in range(1, 6)]
BATCHES = [*TRAINING_BATCHES, "test_batch"]
LARGEST = 2**28  # bytes of a batch in an archive: eight times what it has, however it was pickled


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


def sample_index(folder: Path | None = None) -> dict:
    """The sample's labels, and the places of its images in the full set, of train and test."""
    return json.loads(((folder or SAMPLE) / "index.json").read_text())


def load_sample(folder: Path | None = None) -> tuple[Split, Split]:
    """Training and test images of the sample: the first 200 and 50 of each class.

    They are the tiles of one lossless PNG each, in the official order, 50 to a row; index.json has
    their labels and their places in the full set. tools/make_sample.py wrote the files.
    """
    folder = folder or SAMPLE
    index = sample_index(folder)
    train = Split(_tiles(folder / "train.png"), np.array(index["train"]["labels"], dtype=np.int64))
    test = Split(_tiles(folder / "test.png"), np.array(index["test"]["labels"], dtype=np.int64))
    return train, test


def _tiles(path: Path) -> np.ndarray:
    """The images uint8[N,3,32,32] of a mosaic, row by row."""
    from PIL import Image

    with Image.open(path) as mosaic:
        tiles = np.asarray(mosaic).reshape(-1, 32, TILES, 32, 3)  # [row, y, tile, x, colour]
    in_order = tiles.transpose(0, 2, 4, 1, 3)  # [row, tile, colour, y, x]
    return np.ascontiguousarray(in_order).reshape(-1, 3, 32, 32)


def mosaic(images: np.ndarray) -> np.ndarray:
    """images[N,3,32,32] -> one picture [N/50*32, 50*32, 3]; N is a multiple of 50."""
    grid = images.reshape(-1, TILES, 3, 32, 32)  # [row of tiles, tile, colour, y, x]
    return grid.transpose(0, 3, 1, 4, 2).reshape(-1, TILES * 32, 3)


def write_sample(train: Split, test: Split) -> None:
    """Write the sample's pictures from the full set, by the places in its index.json."""
    from PIL import Image

    index = sample_index()
    for name, split in (("train", train), ("test", test)):
        chosen = split.images[index[name]["indices"]]
        Image.fromarray(mosaic(chosen)).save(SAMPLE / f"{name}.png", optimize=True)


def is_sample(folder: Path) -> bool:
    """Whether a folder has the sample, pixel for pixel."""
    try:
        return fingerprint(*load_sample(folder)) == SAMPLE_SHA256
    except Exception:  # damaged pictures fail in every way there is
        return False


def read_copy(path: str | Path) -> tuple[Split, Split]:
    """Training and test images of a copy: the folder, the folder around it, or the tar.gz.

    Raises FileNotFoundError when a file is missing, ValueError when one cannot be decoded.
    """
    path = Path(path).expanduser()
    files = _files(path)
    missing = [name for name in BATCHES if name not in files]
    if missing:
        raise FileNotFoundError(
            f"{path} is no copy of CIFAR-10: {', '.join(missing)} not found. Give the folder "
            f"{FOLDER}, the folder around it, or the official cifar-10-python.tar.gz."
        )
    batches = []
    for name in BATCHES:
        content = files.pop(name)  # so that no file is held twice, as read and as decoded
        try:
            batches.append(_decode(content))
        except Exception as error:  # damaged pickles fail in every way there is
            reason = in_a_line(error)
            raise ValueError(f"{name} in {path} cannot be decoded: {reason}.") from error
    *training, test = batches
    images = np.concatenate([batch.images for batch in training])
    labels = np.concatenate([batch.labels for batch in training])
    return Split(images, labels), test


def _files(path: Path) -> dict[str, bytes]:
    """The batches' files that are there, by name."""
    if path.is_file():
        return _archived(path)
    folder = path / FOLDER
    if not folder.is_dir():
        folder = path
    found = {}
    for name in BATCHES:
        if (folder / name).is_file():
            found[name] = (folder / name).read_bytes()
    return found


def _archived(path: Path) -> dict[str, bytes]:
    """The batches' files in a tar archive, by name, whatever folder they are in."""
    found = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                name = Path(member.name).name
                if member.isfile() and name in BATCHES:
                    if member.size > LARGEST:
                        raise ValueError(f"{name} in it has {member.size:,} bytes")
                    found[name] = archive.extractfile(member).read()
    except Exception as error:  # damaged archives fail in every way there is
        raise ValueError(f"{path} is no whole tar archive ({in_a_line(error)}).") from error
    return found


def _decode(content: bytes) -> Split:
    """One pickled batch, whatever protocol and Python it was written with."""
    try:
        batch = _Careful(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:
        raise ValueError(f"no whole pickle of a batch ({in_a_line(error)}).") from error
    if not isinstance(batch, dict):
        raise ValueError(f"it holds a {type(batch).__name__} and not a dict.")
    named = {}
    for key, value in batch.items():
        named[key.decode() if isinstance(key, bytes) else key] = value
    data = np.asarray(named.get("data"))
    labels = np.asarray(named.get("labels"))
    if data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != 3072:
        raise ValueError(f"its data are {data.dtype}{list(data.shape)} and not uint8[N,3072].")
    if labels.shape != data.shape[:1] or labels.dtype.kind not in "iu":
        raise ValueError(f"its labels are {labels.dtype}{list(labels.shape)}, not one per image.")
    return Split(data.reshape(-1, 3, 32, 32), labels.astype(np.int64))


def _from_buffer(buffer: bytes, dtype: "_Dtype", shape: tuple, order: str) -> np.ndarray:
    """How protocol 5 builds an array."""
    return np.frombuffer(buffer, dtype.numpy).reshape(shape, order=order)


class _Dtype:
    """Of whole numbers. A pickle can have NumPy's own take any bytes for addresses of objects."""

    order = ""

    def __init__(self, code: str | bytes, *_: object) -> None:
        self.code = code

    def __setstate__(self, state: tuple) -> None:
        self.order = state[1]

    @property
    def numpy(self) -> np.dtype:
        """NumPy's type; raises UnpicklingError for all that are not of whole numbers."""
        parts = (self.order, self.code)
        name = "".join(part.decode() if isinstance(part, bytes) else part for part in parts)
        if not re.fullmatch("[<>|=]?[iu][1248]", name):
            raise pickle.UnpicklingError(f"it has numbers of the type {name[:20]!r}")
        return np.dtype(name)


class _Array:
    """An array, as protocols before 5 build it: empty, and filled next."""

    def __init__(self, *_: object) -> None:
        self.array = np.empty(0, np.uint8)

    def __setstate__(self, state: tuple) -> None:
        _, shape, dtype, by_columns, data = state
        self.array = _from_buffer(data, dtype, shape, "F" if by_columns else "C")

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        return self.array


def _encoded(text: str, *_: object) -> bytes:
    """How protocol 2 writes bytes."""
    return text.encode("latin1")


# What a pickle may ask for, by its name in NumPy 1.
_BUILDERS = {
    "numpy.ndarray": _Array,
    "numpy.dtype": _Dtype,
    "_codecs.encode": _encoded,
    "numpy.core.multiarray._reconstruct": _Array,
    "numpy.core.numeric._frombuffer": _from_buffer,
}


class _Careful(pickle.Unpickler):
    """Unpickles arrays of whole numbers and plain values; all else is refused."""

    def find_class(self, module: str, name: str) -> object:
        """The builder of this name; raises UnpicklingError for all but those of `_BUILDERS`."""
        wanted = f"{module}.{name}".replace("numpy._core.", "numpy.core.")  # NumPy 2 and 1
        if wanted not in _BUILDERS:
            raise pickle.UnpicklingError(f"it asks for {wanted}, which no batch needs")
        return _BUILDERS[wanted]
