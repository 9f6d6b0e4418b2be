"""How large wheels are, without downloading them: a zip file ends in the list of what it holds."""

import io
import time
import tomllib
import urllib.request
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

TAIL = 8_000_000  # bytes; tensorflow's list of files is the longest, at over 2 MB


def tail(url: str, bytes_: int) -> tuple[int, bytes]:
    """(size of the file, its last bytes). Raises OSError when the server cannot be reached."""
    if url.startswith("file:"):
        data = Path(urllib.request.url2pathname(url.removeprefix("file://"))).read_bytes()
        return len(data), data[-bytes_:]
    request = urllib.request.Request(url, headers={"Range": f"bytes=-{bytes_}"})
    for wait in (1, 4, 16, None):  # seconds; None: the last try
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                data = answer.read()
                whole = answer.headers.get("Content-Range", f"/{len(data)}")  # "bytes 0-9/10"
            break
        except OSError:
            if wait is None:
                raise
            time.sleep(wait)
    return int(whole.rpartition("/")[2]), data


def size(url: str, compiled: bool = True) -> tuple[int, int]:
    """(bytes to download, bytes on disk): files in whole 4 KiB blocks, .py files also compiled."""
    length, data = tail(url, TAIL)
    entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
    copies = [2 if compiled and entry.filename.endswith(".py") else 1 for entry in entries]
    blocks = [-(-entry.file_size // 4096) for entry in entries]
    return length, 4096 * sum(c * b for c, b in zip(copies, blocks, strict=True))


def total(pylock: str, compiled: bool = True) -> tuple[int, int]:
    """(MB to download, MB on disk) of all packages of a pylock.toml, given as text."""
    with ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(partial(size, compiled=compiled), _urls(pylock)))
    download, disk = (round(sum(column) / 1e6) for column in zip(*sizes, strict=True))
    return download, disk


def download(pylock: str) -> int:
    """MB to download alone: much quicker to ask for than `total`."""
    with ThreadPoolExecutor(8) as pool:
        lengths = pool.map(lambda url: tail(url, 1)[0], _urls(pylock))
        return round(sum(lengths) / 1e6)


def _urls(pylock: str) -> list[str]:
    packages = tomllib.loads(pylock)["packages"]
    return [wheel["url"] for package in packages for wheel in package.get("wheels", [])]
