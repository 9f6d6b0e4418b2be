"""The unmodified pynq 4.0.0 on a newer stack than it allows: Colab's Python 3.13 and NumPy 2.

pynq asks for numpy<2, pycparser<3 and grpcio 1.64, which has no wheel for Python 3.13; Colab has
NumPy 2, pycparser 3 and a newer grpcio, and keeps them. There pip installs pynq without what it
asks for, after `labkit[fpga]` has brought what Colab lacks of it:

    pip install "labkit[fpga] @ ..."
    pip install --no-deps pynq==4.0.0

Of all that a board uses, one thing does not work then: `allocate`. NumPy 2 gave its arrays an
attribute `device` that cannot be set, and pynq's buffers set theirs. `mend` gives their class an
attribute of that name, which stands before NumPy's. Under NumPy 1 it changes nothing.

`mend` also gives pynq a place for its notes (pynq_cache.py). Every `VirtualBoard` mends the pynq of
its process. A program that uses the board of another one (`labkit board`) calls `mend` itself,
behind its imports.
"""

import sys

import numpy as np

from labkit.fpga.board.pynq_package import pynq_cache

PYNQ = "pynq==4.0.0"
NEEDED = hasattr(np.ndarray, "device")  # since NumPy 2


def mend() -> bool:
    """Lets pynq make buffers under this NumPy; False if it could already.

    From then on, its notes are this process's own.
    """
    from pynq.pl_server.remote_device import RemoteBuffer

    pynq_cache.keep_own()
    return give_a_device(RemoteBuffer)


def give_a_device(kind: type, base: type = np.ndarray) -> bool:
    """Lets arrays of a kind set `device`, which `base` forbids; False if they could already."""
    forbids = vars(base).get("device")
    if forbids is None or kind.device is not forbids:
        return False
    kind.device = None
    return True


def how_to_install(python: tuple[int, ...] = sys.version_info) -> str:
    """A sentence: how pynq gets into this Python, or another one."""
    if python < (3, 13):
        return f"`pip install {PYNQ}` brings it, and so does `make lab`."
    return (
        "On Python 3.13, `pip install 'labkit[fpga]'` brings what it needs, and then `pip install "
        f"--no-deps {PYNQ}` brings it."
    )
