"""What pynq leaves in its own folder: the metadata of the latest bitstream, and its state.

Both are notes to a later `Overlay` of the same file. Processes that share an installation share
them, and overwrite each other's; so the board removes them whenever a client has written them.
"""

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

NAMES = ("_current_metadata.pkl", "global_pl_state_.json")


def files() -> list[Path]:
    """Where they are, if they are; none where pynq is not installed."""
    spec = find_spec("pynq")
    if spec is None or not spec.origin:
        return []
    folder = Path(spec.origin).parent / "pl_server"
    return [folder / name for name in NAMES]


def clear() -> None:
    """Removes them."""
    for path in files():
        with suppress(OSError):  # of somebody else, or gone
            path.unlink()
