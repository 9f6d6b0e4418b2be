"""The .bit file: what pynq makes of it, and how the board finds the design in it again."""

import struct

import pytest

from labkit.fpga.board.bitstream import MAGIC, bit_file, digest_of
from labkit.fpga.board.errors import BoardError

DIGEST = "0123456789abcdef" * 4


def firmware(content: bytes) -> bytes:
    """As pynq does it: the payload behind the header, in words of swapped bytes."""
    payload = content[content.index(MAGIC) :]
    words = struct.unpack(f"<{len(payload) // 4}I", payload)
    return struct.pack(f">{len(words)}I", *words)


def test_the_digest_comes_back():
    assert digest_of(firmware(bit_file("x", DIGEST))) == DIGEST


def test_header_as_vivado_writes_it():
    content = bit_file("mac_1", DIGEST)
    assert content[:13] == bytes.fromhex("00090ff00ff00ff00ff0000001")
    assert b"mac_1;UserID" in content and b"7z020clg400" in content
    place = content.index(MAGIC)
    assert struct.unpack(">i", content[place - 4 : place]) == (len(content) - place,)
    assert bit_file("mac_1", DIGEST) == content


@pytest.mark.parametrize("content", [b"", b"x", bytes(116), MAGIC, MAGIC + bytes(65), bytes(4_000)])
def test_other_contents_are_refused(content):
    with pytest.raises(BoardError, match="no bitstream of the virtual board"):
        digest_of(content)
