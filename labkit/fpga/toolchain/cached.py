"""Answers of slow tools, kept in the cache under a hash of everything that they depend on.

Synthesis takes seconds, and a notebook asks for the same module again and again. The key holds the
sources, the parameters, the tool's version and our own script, so that a change of any asks anew.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from labkit.files import CACHE, write_whole
from labkit.fpga.toolchain import cache_limit
from numba_simt.owned_files import refuse_others


def cached(
    kind: str,
    depends_on: object,
    make: Callable[[], dict],
    enough: Callable[[dict], bool] = lambda answer: True,
) -> dict:
    """The answer of `make()`, from the cache if it was given before.

    kind         what is asked for: a folder's name in the cache
    depends_on   everything that the answer depends on, as what JSON writes and reads unchanged
    enough       whether a kept answer will do; one that will not is made again

    Where the cache cannot be read or written, the answer is made each time; what is damaged, or
    another user's, is made again. What `make` raises passes through, and is not kept.
    """
    key = hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()
    path = cache_limit.folder() / kind / f"{key}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        refuse_others(path, CACHE)
        kept = json.loads(path.read_text("utf-8"))
        if kept["depends_on"] == depends_on and enough(kept["answer"]):
            cache_limit.note_use(path)
            return kept["answer"]
    answer = make()
    kept = {"depends_on": depends_on, "answer": answer}
    with suppress(OSError):
        write_whole(path, json.dumps(kept).encode())
        cache_limit.make_room(path)
    return answer


def text_of(*files: str) -> str:
    """A hash of our own modules, by their `__file__`: an answer also depends on who reads it."""
    texts = [Path(file).read_text("utf-8") for file in files]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
