"""A `.bit` file for the virtual board: the standard header, and a payload that names a design.

Its payload is no configuration of a real chip. It holds a design's digest, so that the board runs
the design that the file was made for, and no other.
"""

import re
import struct

from labkit.fpga.board.errors import BoardError

PART = "7z020clg400"
MAGIC = b"labkit virtual bitstream, of no use to a real chip\n"
_MAGIC_AND_DIGEST = re.compile(re.escape(MAGIC) + rb"([0-9a-f]{64})\n")


def bit_file(name: str, digest: str) -> bytes:
    """The file for a design: its name, and a SHA-256 in hex."""
    payload = MAGIC + digest.encode() + b"\n"
    payload += b"\n" * (-len(payload) % 4)
    head = struct.pack(">h", 9) + bytes([0x0F, 0xF0] * 4 + [0]) + struct.pack(">h", 1)
    texts = {"a": f"{name};UserID=0XFFFFFFFF;Version=labkit", "b": PART, "c": "2000/01/01"}
    texts["d"] = "00:00:00"  # always the same: equal designs make equal files
    for key, text in texts.items():
        data = text.encode("ascii") + b"\0"
        head += key.encode() + struct.pack(">h", len(data)) + data
    return head + b"e" + struct.pack(">i", len(payload)) + payload


def digest_of(firmware: bytes) -> str:
    """The digest in what a client has made of a `.bit` file: its payload with swapped bytes.

    Raises BoardError for any other content.
    """
    swapped = b""
    if len(firmware) == 4 * -(-(len(MAGIC) + 65) // 4):
        swapped = b"".join(firmware[i : i + 4][::-1] for i in range(0, len(firmware), 4))
    found = _MAGIC_AND_DIGEST.match(swapped)
    if not found:
        raise BoardError(
            f"These {len(firmware):,} bytes are no bitstream of the virtual board. It runs designs "
            "whose .bit and .hwh `board.add(design)` has written; a bitstream from Vivado is for a "
            "real chip."
        )
    return found[1].decode()
