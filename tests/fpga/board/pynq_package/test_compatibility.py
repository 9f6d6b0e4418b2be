"""pynq on a newer stack than it allows: what is mended, and that nothing else is."""

import base64
import hashlib
from importlib.metadata import files

import numpy as np
import pytest

from labkit.fpga.board.pynq_package import compatibility, pynq_cache
from tests.fpga.board.pynq_process import run_python


class Forbids:
    """As NumPy 2's arrays: `device` can be read, and not be set."""

    device = property(lambda self: "cpu")


def test_a_buffer_gets_a_device_of_its_own():
    class Buffer(Forbids):
        pass

    with pytest.raises(AttributeError):
        Buffer().device = "a board"
    assert compatibility.give_a_device(Buffer, Forbids)
    buffer = Buffer()
    assert buffer.device is None and Forbids().device == "cpu"
    buffer.device = "a board"
    assert buffer.device == "a board"
    assert not compatibility.give_a_device(Buffer, Forbids)  # it has one now


def test_nothing_is_changed_where_nothing_forbids():
    class Allows:
        pass

    class Buffer(Allows):
        pass

    class Other(Forbids):
        device = "its own"

    assert not compatibility.give_a_device(Buffer, Allows)
    assert "device" not in vars(Buffer)
    assert not compatibility.give_a_device(Other, Forbids)
    assert Other.device == "its own"


def test_numpy_2_needs_it_and_numpy_1_does_not():
    version = np.lib.NumpyVersion(np.__version__)
    assert (version >= "2.0.0") == compatibility.NEEDED

    class Buffer(np.ndarray):
        pass

    assert compatibility.give_a_device(Buffer) == compatibility.NEEDED
    array = np.zeros(3).view(Buffer)
    array.device = "a board"
    assert (array[1:] + 1).sum() == 2 and array.device == "a board"


@pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")
def test_a_board_mends_pynq_where_that_is_needed():
    printed = run_python("""
        from labkit.fpga.board.pynq_package import compatibility
        with VirtualBoard() as board:
            from pynq import allocate
            from pynq.pl_server.remote_device import RemoteBuffer
            print(("device" in vars(RemoteBuffer)) == compatibility.NEEDED)
            print(compatibility.mend())  # a second time
            buffer = allocate((4, 6), "i4")
            print(buffer.device is buffer[1:].device is not None)
            buffer[:] = 3
            print((buffer @ buffer.T).sum(), np.concatenate([buffer, buffer]).shape)
    """)
    assert printed.splitlines() == ["True", "False", "True", "864 (8, 6)"]


def test_how_pynq_is_installed():
    assert "`pip install pynq==4.0.0`" in compatibility.how_to_install((3, 12, 1))
    assert "--no-deps pynq==4.0.0" in compatibility.how_to_install((3, 13, 0))
    assert len(compatibility.how_to_install().splitlines()) == 1


def test_pynq_is_as_its_wheel_has_it():
    """Every module of the installed package has the hash that its wheel recorded."""
    modules = [file for file in files("pynq") if file.suffix == ".py" and file.hash]
    assert len(modules) > 100
    for module in modules:
        assert module.hash.mode == "sha256"
        digest = hashlib.sha256(module.locate().read_bytes()).digest()
        recorded = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        assert recorded == module.hash.value, module
