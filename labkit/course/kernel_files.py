"""Kernels that run lessons unseen: they talk through socket files that are their user's alone.

    NotebookClient(notebook, kernel_manager_class=through_files(AsyncKernelManager))
    pytest --nbval -p labkit.course.kernel_files

Over TCP any user of this computer could subscribe to what a kernel tells of its cells. So each
kernel has a folder of its own, and is the one of `labkit lab` (kernel.py), which opens no port
either. On Windows, and where the files' paths would be too long, it stays TCP.
"""

import shutil
import sys
import weakref
from pathlib import Path

from labkit.files import socket_folder

# jsonschema, which nbformat and nbval import, would build 38 grammars with this package to check
# formats of addresses, which no notebook has: three seconds of each process that reads notebooks.
sys.modules.setdefault("rfc3987_syntax", None)
KERNEL = Path(__file__).with_name("kernel.py")
USUAL = ["-m", "ipykernel_launcher"]


def pytest_configure() -> None:
    """As a plugin of pytest: for nbval's kernels."""
    from jupyter_client.manager import KernelManager
    from nbval import kernel

    kernel.KernelManager = through_files(KernelManager)


def through_files(usual: type) -> type:
    """A kernel manager whose kernels talk through files; the folder goes with the manager."""

    class FileKernelManager(usual):
        def __init__(self, **options: object) -> None:
            if sys.platform != "win32":
                try:
                    folder = socket_folder("labkit-kernel-")
                except OSError:
                    return super().__init__(**options)
                options |= {"transport": "ipc", "connection_file": str(folder / "kernel.json")}
                weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            super().__init__(**options)

        def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
            """The usual command, with our kernel in the place of ipykernel's."""
            words = super().format_kernel_cmd(extra_arguments)
            for at in range(len(words)):
                if words[at : at + 2] == USUAL:
                    return [*words[:at], str(KERNEL), *words[at + 2 :]]
            return words

    return FileKernelManager
