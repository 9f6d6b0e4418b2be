"""pynq's notes: the metadata of the latest bitstream, and its state, in a folder of this process.

Both are notes to a later `Overlay` of the same file: it reads the metadata if the state says that
they are of this file. pynq keeps them in its installation, which processes share: one could find a
state that another has half written, or another design's metadata; and where nobody may write there,
no `Overlay` works. So every process with a board keeps its own, and so does a client of
`labkit board` that calls `compatibility.mend`. Nothing in the installation is written or removed.

pynq asks for the place at each use: for the state it is `STATE_DIR`, for the metadata the folder of
the module that asks. So these modules are told that they lie in ours; whatever else looks for their
source does not find it there.
"""

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

METADATA, STATE = "_current_metadata.pkl", "global_pl_state_.json"
FOLDER = "pl_server"  # as in the installation
_own: list[TemporaryDirectory] = []  # of this process, once it has one


def files() -> list[Path]:
    """Where pynq itself would have them; nowhere where it is not installed."""
    spec = find_spec("pynq")
    if spec is None or not spec.origin:
        return []
    folder = Path(spec.origin).parent / FOLDER
    return [folder / METADATA, folder / STATE]


def keep_own() -> Path:
    """From now on pynq's notes are in a folder of this process, which this returns.

    It imports pynq. The folder is gone when the process ends.
    """
    if not _own:
        _own.append(TemporaryDirectory(prefix="pynq-notes-"))
    folder = Path(_own[0].name) / FOLDER
    folder.mkdir(exist_ok=True)

    from pynq import pl
    from pynq.pl_server import embedded_device, global_state, remote_device

    global_state.STATE_DIR = str(folder)
    for module in (embedded_device, remote_device):
        module.__file__ = str(folder / f"{module.__name__}.py")
    pl.__file__ = str(folder.parent / "pl.py")
    return folder


def clear() -> None:
    """Removes this process's notes: a later `Overlay` reads its files again, also changed ones."""
    for folder in _own:
        for name in (METADATA, STATE):
            with suppress(OSError):  # there are none
                (Path(folder.name) / FOLDER / name).unlink()
