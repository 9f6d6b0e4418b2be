"""pynq's notes in its own folder: another process's are neither read nor removed.

The processes of these tests have a pynq of their own, so that the notes which a test leaves there
disturb nobody. What another process does in an unlucky moment lies there from the beginning.
"""

import shutil
from pathlib import Path
from textwrap import dedent

import pytest

from labkit.fpga.board import pynq_cache
from tests.fpga.board.pynq_process import run_python

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")
HALF_WRITTEN = '{"bitfile_name": "/tmp/loopb'


@pytest.fixture
def notes(tmp_path):
    """The folder of a pynq whose other files are links to the installed one's."""
    installed = pynq_cache.files()[0].parents[1]
    own = tmp_path / "pynq"
    own.mkdir()
    for path in installed.iterdir():
        if path.name != "pl_server":
            (own / path.name).symlink_to(path)
    shutil.copytree(installed / "pl_server", own / "pl_server")
    for name in (pynq_cache.METADATA, pynq_cache.STATE):
        (own / "pl_server" / name).unlink(missing_ok=True)
    return own / "pl_server"


def run(notes: Path, code: str) -> list[str]:
    """The lines that code prints in a process with this pynq, as a `board` and an `Overlay`."""
    first = f"import sys\nsys.path.insert(0, {str(notes.parents[1])!r})\n"
    return run_python(first + dedent(code)).splitlines()


def test_a_half_written_state_of_another_process_is_not_read(notes):
    (notes / pynq_cache.STATE).write_text(HALF_WRITTEN)
    lines = run(
        notes,
        """
        with VirtualBoard() as board:
            import pynq
            print(pynq.__file__)
            for _ in range(2):
                print(sorted(pynq.Overlay(board.bitstream).ip_dict))
        """,
    )
    assert Path(lines[0]).parent == notes.parent
    assert lines[1] == lines[2] and "axi_dma_0" in lines[1]
    assert (notes / pynq_cache.STATE).read_text() == HALF_WRITTEN  # nor is it removed
    assert not (notes / pynq_cache.METADATA).exists()


def test_metadata_of_another_design_are_not_taken_for_ones_own(notes):
    """The worst moment: the state speaks of this file, the metadata are of another one."""
    lines = run(
        notes,
        """
        import pickle
        from pathlib import Path
        from labkit.fpga.board import pynq_cache

        metadata, state = pynq_cache.files()
        with VirtualBoard(designs.loopback(), designs.filter_3x3(2, 3)) as board:
            from pynq import Overlay
            from pynq.pl_server.global_state import GlobalState, bitstream_hash
            hash = bitstream_hash(board.bitstreams[0])
            note = GlobalState(bitfile_name="x", active_name="y", timestamp="", bitfile_hash=hash)
            state.write_text(note.json())
            other = Overlay(board.bitstreams[1], download=False).parser
            metadata.write_bytes(pickle.dumps(other))
            print("filter_3x3_0" in Overlay(board.bitstreams[0]).ip_dict)
        """,
    )
    assert lines == ["False"]


def test_boards_of_one_process_leave_in_any_order(notes):
    lines = run(
        notes,
        """
        from pathlib import Path

        boards = [VirtualBoard(port=0).start() for _ in range(3)]
        from pynq.pl_server import global_state
        for board in (boards[1], boards[2], boards[0]):
            print(Path(global_state.STATE_DIR).name.partition("-")[0])
            board.stop()
            board.stop()
        print(global_state.STATE_DIR)
        """,
    )
    assert lines == ["virtual"] * 3 + [str(notes)]


def test_a_board_removes_what_a_client_elsewhere_has_written(notes, monkeypatch):
    """As for `labkit board`: its own process has no notes."""
    paths = [notes / pynq_cache.METADATA, notes / pynq_cache.STATE]
    for path in paths:
        path.write_text("")
    monkeypatch.setattr(pynq_cache, "files", lambda: paths)
    pynq_cache.clear()
    assert not any(path.exists() for path in paths)
