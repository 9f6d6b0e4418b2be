"""The board's files: a tree in memory. Nothing here opens a file of this machine."""

from collections.abc import Callable

from labkit.fpga.board.errors import BoardError

MOST_FILES = 64
MOST_BYTES = 32 * 2**20  # of all files together
LONGEST_PATH = 255
FIRMWARE = "/lib/firmware/"
MANAGER = "/sys/class/fpga_manager/fpga0/"
FLAGS = MANAGER + "flags"
READ_ONLY = {
    "/proc/version": b"Linux version 5.15.19-virtual (labkit) armv7l\n",
    "/proc/device-tree/chosen/pynq_board": b"Pynq-Z2-virtual\0",
    MANAGER + "state": b"operating\n",
}


class Files:
    """Paths and contents. Writing `firmware` of the FPGA manager calls `configure` with a name."""

    def __init__(self, configure: Callable[[str], None]) -> None:
        self._configure = configure
        self._contents: dict[str, bytes] = {FLAGS: b"0"}

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder of that name."""
        folder = path.rstrip("/") + "/"
        names = [*READ_ONLY, *self._contents]
        return path in names or any(name.startswith(folder) for name in names)

    def read(self, path: str) -> bytes:
        """A file's content; raises BoardError where there is none."""
        if path in READ_ONLY:
            return READ_ONLY[path]
        if path in self._contents:
            return self._contents[path]
        raise BoardError(
            f"There is no file {path[:LONGEST_PATH]!r} on the board. Its files are its own: none "
            "of your computer's is visible there."
        )

    def write(self, path: str, content: bytes) -> None:
        """Replaces a file's content; raises BoardError for what may not be written."""
        self._refuse(path, content)
        if path == MANAGER + "firmware":
            self._configure(content.decode("utf-8", "replace").strip())
            return
        if path == FLAGS and content.strip() not in (b"0", b"1"):
            raise BoardError(f"{path} takes 0, for a whole bitstream, or 1, for a partial one.")
        self._contents[path] = bytes(content)

    def _refuse(self, path: str, content: bytes) -> None:
        if not path.startswith("/") or ".." in path.split("/") or "\0" in path:
            raise BoardError(f"{path[:60]!r} is no path: it has to begin with /, without ..")
        if len(path) > LONGEST_PATH:
            raise BoardError(f"A path on the board has at most {LONGEST_PATH} letters.")
        if path in READ_ONLY or path.startswith("/proc/"):
            raise BoardError(f"{path} can only be read.")
        others = {name: held for name, held in self._contents.items() if name != path}
        if len(others) >= MOST_FILES:
            raise BoardError(f"The board has {MOST_FILES} files already, and takes no more.")
        if sum(map(len, others.values())) + len(content) > MOST_BYTES:
            raise BoardError(f"All files of the board together have at most {MOST_BYTES:,} bytes.")
