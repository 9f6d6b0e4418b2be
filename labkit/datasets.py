"""CIFAR-10 for every lesson: the full set where it can be had, else the embedded real sample.

    cifar10("sample")   2,000 + 500 images that come with labkit: the same everywhere, offline
    cifar10("full")     50,000 + 10,000 images, from the cache or downloaded
    cifar10()           full if possible, else the sample; a printed line says which, and why

The full set is accepted by one SHA-256 over its decoded pixels and labels, so any faithful copy
will do, and it is kept decoded in the cache folder (LABKIT_CACHE, or the user's own).
LABKIT_OFFLINE=1 forbids the download. Nothing that fails here loses a file: damaged ones are set
aside.
"""

import hashlib
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from labkit.cifar10_files import Split, fingerprint, load_sample, read_copy
from labkit.errors import in_a_line
from labkit.files import cache_folder, set_aside

__all__ = ["Cifar10", "Split", "cifar10", "describe", "import_copy"]

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
MD5 = "c58f30108f718f92721af3b95e74349a"  # of that archive, as its makers publish it
SHA256 = "14a2bd144501de0a338b4c67a69c1d3c335f24e5f4e22c78ea4775ad4d3c9e6a"  # see `fingerprint`
TIMEOUT = (4, 20)  # seconds to connect, and to wait for the next bytes
NO_SAMPLE = (
    "The photographs are not here: run the notebook's first cell again, and do what it says; or "
    "go on with the next cell that needs none."
)
CLASSES = "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"


@dataclass(frozen=True, eq=False)
class Cifar10:
    """Training and test images, the names of the ten classes, and which set this is."""

    train: Split
    test: Split
    source: str  # "full" or "sample"
    origin: str  # where it was read from, in words
    class_names: tuple[str, ...] = CLASSES

    def __str__(self) -> str:
        which = {"full": "the full set", "sample": "the embedded sample"}[self.source]
        size = f"{len(self.train):,} training and {len(self.test):,} test images"
        return f"CIFAR-10, {which}: {size}, {self.origin}."


class Unavailable(Exception):
    """The full set cannot be had; the message is the reason, as a clause for a sentence."""


def cifar10(source: str = "auto") -> Cifar10:
    """CIFAR-10 as `source` says: "auto", "full" or "sample" (see the module's text).

    Raises ValueError for another source, and for "full" when it cannot be had; FileNotFoundError
    for the sample, where a handout's first cell could not bring it.
    """
    if source == "sample":
        try:
            return Cifar10(*load_sample(), "sample", "as they come with labkit")
        except FileNotFoundError:
            raise FileNotFoundError(NO_SAMPLE) from None
    if source not in ("auto", "full"):
        raise ValueError(f'cifar10({source!r}): the source is "auto", "full" or "sample".')
    try:
        data = _from_cache() or _download()
    except Unavailable as reason:
        if source == "full":
            raise ValueError(
                f"The full CIFAR-10 is not here: {reason}. "
                "If you have a copy, run `labkit data --from PATH`."
            ) from reason
        data = cifar10("sample")
        print(f"{data} The full set is not here: {reason}.")
        return data
    if source == "auto":
        print(data)
    return data


def import_copy(path: str | Path) -> Cifar10:
    """Check a copy you have (folder or tar.gz) and keep it, decoded, in the cache folder.

    Raises FileNotFoundError where there is none, ValueError when it is damaged or differs (the
    cache stays as it was), and OSError when the cache folder cannot be written.
    """
    train, test = _right(path)
    try:
        return _keep(train, test)
    except Unavailable as reason:
        raise OSError(f"CIFAR-10 from {path} is right but was not kept: {reason}.") from reason


def describe() -> str:
    """Which set `cifar10()` would find on this machine, in sentences; downloads nothing."""
    try:
        if data := _from_cache():
            return f"{data} Its SHA-256 is right."
        do = "cifar10() with a connection (163 MiB), or run labkit data --from PATH with a copy"
        where = f"in {_cache_file().parent}. To get it, call {do}"
    except Unavailable as reason:
        where = f"here: {reason}"
    return f"{cifar10('sample')} The full set is not {where}."


def _right(path: str | Path) -> tuple[Split, Split]:
    """Training and test images of a copy, or a ValueError when they are not CIFAR-10's."""
    try:
        train, test = read_copy(path)
    except ValueError as error:
        raise ValueError(f"{error} It has no SHA-256 to compare; expected {SHA256}.") from error
    if (got := fingerprint(train, test)) != SHA256:
        raise ValueError(
            f"{path} is not CIFAR-10 as published: the SHA-256 of its pixels and labels is {got}, "
            f"expected {SHA256}."
        )
    return train, test


def _cache_file() -> Path:
    """Where the decoded full set lies, or would."""
    return cache_folder() / "cifar10.npz"


def _from_cache() -> Cifar10 | None:
    """The full set if the cache has it; a damaged one is set aside, and this is said."""
    path = _cache_file()
    try:
        if not path.is_file():
            return None
        content = io.BytesIO(path.read_bytes())
        try:
            with np.load(content, allow_pickle=False) as kept:
                train = Split(kept["train_images"], kept["train_labels"])
                test = Split(kept["test_images"], kept["test_labels"])
            got = fingerprint(train, test)
        except Exception as error:  # a damaged file fails in every way there is
            got = f"none, for it cannot be decoded ({in_a_line(error)})"
        if got == SHA256:
            return Cifar10(train, test, "full", f"from {path}")
        aside = set_aside(path)
    except OSError as error:
        raise Unavailable(f"the cache file {path} cannot be used ({error.strerror})") from error
    print(f"{path} is damaged: SHA-256 expected {SHA256}, got {got}. Set aside as {aside.name}.")
    return None


def _keep(train: Split, test: Split) -> Cifar10:
    """Write the decoded full set to the cache: first beside its place, then into it."""
    path = _cache_file()
    arrays = {"train_images": train.images, "train_labels": train.labels}
    arrays |= {"test_images": test.images, "test_labels": test.labels}
    with _workshop(path.parent) as folder:
        np.savez(folder / path.name, **arrays)
        os.replace(folder / path.name, path)
    return Cifar10(train, test, "full", f"from {path}")


@contextmanager
def _workshop(cache: Path) -> Iterator[Path]:
    """A folder inside the cache folder for unfinished files, gone at the end in any case."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="unfinished-") as folder:
            yield Path(folder)
    except OSError as error:
        raise Unavailable(
            f"the cache folder {cache} cannot be written ({error.strerror or error}); "
            "the variable LABKIT_CACHE can name another"
        ) from error


def _download() -> Cifar10:
    """Fetch the official archive with a progress bar, check it, decode it and keep it."""
    if os.environ.get("LABKIT_OFFLINE", "0") not in ("", "0"):
        raise Unavailable("LABKIT_OFFLINE forbids the download")
    cache = _cache_file().parent
    with _workshop(cache) as folder:
        archive = folder / "cifar-10-python.tar.gz"
        trouble = _fetch(archive)
        if trouble and not archive.stat().st_size:
            raise Unavailable(trouble)
        got = hashlib.md5(archive.read_bytes(), usedforsecurity=False).hexdigest()
        try:
            if got == MD5:
                return _keep(*_right(archive))
            trouble = f"{trouble or 'the download is damaged'}: MD5 expected {MD5}, got {got}"
        except ValueError as error:
            wrong = str(error).rstrip(".")
            trouble = f"the archive has the right MD5 but not the right content: {wrong}"
        raise Unavailable(f"{trouble}; what came is set aside as {set_aside(archive, cache)}")


def _fetch(archive: Path) -> str:
    """Download URL into a file; returns what went wrong, as a clause, or an empty string."""
    import pooch
    import requests

    host = urlsplit(URL).netloc
    print(f"Downloading CIFAR-10 (163 MiB) from {host} ...", flush=True)
    archive.touch()
    try:
        pooch.HTTPDownloader(progressbar=True, timeout=TIMEOUT)(URL, str(archive), None)
    except requests.HTTPError as error:
        return f"{host} answers {error.response.status_code} {error.response.reason}"
    except requests.RequestException as error:
        if received := archive.stat().st_size:
            return f"the download from {host} broke off after {received:,} bytes"
        return f"no connection to {host} ({type(error).__name__})"
    except OSError:  # the disk, not the net: the cache folder's sentence
        raise
    except Exception as error:  # such as a Content-Length that is no number
        return f"the answer of {host} makes no sense ({in_a_line(error)})"
    return ""
