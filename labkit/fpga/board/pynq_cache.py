"""What pynq leaves in its own folder: the metadata of the latest bitstream, and its state.

Both are notes to a later `Overlay` of the same file: it reads the metadata if the state says that
they are of this file. Processes that share an installation share them. So one can find a state that
another has half written, and fails ("Unable to parse metadata"), or another design's metadata.

A process with a board therefore keeps its state in the board's folder, where no other one looks;
pynq asks for the place at each use. Metadata without a state are never read. The board removes both
as soon as its client has written them: no later `Overlay` needs them.

A client of `labkit board` is a process without a board. Two of those that load an overlay in the
same moment can still disturb each other; nothing is lost, and the call succeeds when made again.
"""

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

METADATA, STATE = "_current_metadata.pkl", "global_pl_state_.json"
_folders: list[Path] = []  # of this process's boards


def files() -> list[Path]:
    """Where pynq has them, if they are there; none where pynq is not installed."""
    spec = find_spec("pynq")
    if spec is None or not spec.origin:
        return []
    folder = Path(spec.origin).parent / "pl_server"
    return [folder / METADATA, folder / STATE]


def keep_in(folder: Path) -> None:
    """From now on this process, which has loaded pynq, keeps its state in a board's folder."""
    _folders.append(folder)
    _use_the_latest()


def leave(folder: Path) -> None:
    """Goes back to the folder before; the second time does nothing."""
    if folder in _folders:
        _folders.remove(folder)
        _use_the_latest()


def clear() -> None:
    """Removes what this process has written; or else what whichever client elsewhere has."""
    metadata, shared = files()
    own = [state for folder in _folders if (state := folder / STATE).exists()]
    for path in [metadata, *(own or [shared])]:
        with suppress(OSError):  # of somebody else, or gone
            path.unlink()


def _use_the_latest() -> None:
    from pynq.pl_server import global_state

    usual = Path(global_state.__file__).parent
    global_state.STATE_DIR = str(_folders[-1] if _folders else usual)
