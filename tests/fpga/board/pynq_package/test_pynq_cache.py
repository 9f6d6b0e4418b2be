"""pynq's notes: a process keeps its own, and neither reads, writes nor removes another's.

The processes of these tests have a pynq of their own, which nobody else writes to. What another
process does in an unlucky moment lies there from the beginning.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from labkit.fpga.board.pynq_package import pynq_cache
from tests.fpga.board.pynq_process import BEGINNING, LIMIT, ROOT, run_python

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
    return run_python(with_pynq(notes) + dedent(code)).splitlines()


def with_pynq(notes: Path) -> str:
    """The first lines of a process with this pynq."""
    return f"import sys\nsys.path.insert(0, {str(notes.parents[1])!r})\n"


def content(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file in it but compiled Python."""
    files = [path for path in folder.iterdir() if path.is_file()]
    return {path.name: (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def test_notes_of_another_process_are_neither_read_nor_touched(notes):
    for name in (pynq_cache.METADATA, pynq_cache.STATE):
        (notes / name).write_text(HALF_WRITTEN)
    before = content(notes)
    lines = run(
        notes,
        """
        with VirtualBoard() as board:
            import pynq
            print(pynq.__file__)
            for _ in range(2):
                print(sorted(pynq.Overlay(board.bitstream).ip_dict))
            print(sorted(pynq.Overlay(board.bitstream, download=False).ip_dict))
        """,
    )
    assert Path(lines[0]).parent == notes.parent
    assert lines[1] == lines[2] == lines[3] and "axi_dma_0" in lines[1]
    assert content(notes) == before


READ_ONLY = """
import os

def refuse(event, given):
    # Root may write anywhere, so that the modes of files would prove nothing.
    changes = event in ("os.remove", "os.rename", "os.mkdir")
    if event == "open" and isinstance(given[2], int):
        changes = given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if changes and str(given[0]).startswith(INSTALLED):
        refused.append(given[0])
        raise PermissionError(13, "read-only", given[0])

refused = []
sys.dont_write_bytecode = True
sys.addaudithook(refuse)
"""
BOARD = """
board = VirtualBoard(port=0).start()
from pynq.pl_server.remote_device import RemoteDevice
from pynq import Overlay
device = RemoteDevice(0, board.address, board.port)
found = Overlay(board.bitstream, device=device).ip_dict
"""
EXERCISE = """
from labkit.fpga.board.private import PrivateBoard
with PrivateBoard(designs.loopback()).active() as overlay:
    found = overlay.ip_dict
"""


@pytest.mark.parametrize("code", [BOARD, EXERCISE], ids=["a board", "an exercise"])
def test_an_installation_that_nobody_may_write_to(notes, code):
    first = with_pynq(notes) + f"INSTALLED = {str(notes.parent)!r}\n" + READ_ONLY
    printed = run_python(first + code + "print('axi_dma_0' in found, refused)")
    assert printed == "True []\n"


def test_two_processes_at_once(notes):
    """Each loads its own design again and again, and never sees the other's."""
    code = """
    with VirtualBoard({design}) as board:
        from pynq import Overlay
        print("started", flush=True)
        input()
        found = [sorted(Overlay(board.bitstream).ip_dict) for _ in range(8)]
        print(found[0], len(set(map(str, found))))
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment.pop("PYNQ_REMOTE_DEVICES", None)
    running = []
    for design in ("designs.loopback()", "designs.filter_3x3(2, 3)"):
        whole = BEGINNING + with_pynq(notes) + dedent(code).format(design=design)
        command = [sys.executable, "-c", whole]
        running.append(subprocess.Popen(command, env=environment, stdin=-1, stdout=-1, text=True))
    try:
        assert [process.stdout.readline() for process in running] == ["started\n"] * 2
        for process in running:
            process.stdin.write("\n")
            process.stdin.flush()
        printed = [process.communicate(timeout=LIMIT)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0, 0]
    assert all(lines.endswith("] 1\n") for lines in printed)
    assert ["filter_3x3_0" in lines for lines in printed] == [False, True]
    assert not any((notes / name).exists() for name in (pynq_cache.METADATA, pynq_cache.STATE))


def test_a_changed_file_of_the_same_name_is_read_again(notes):
    """The bitstream is the same, so that notes of it would seem right."""
    lines = run(
        notes,
        """
        from pathlib import Path
        with VirtualBoard() as board:
            from pynq import Overlay
            print("other_dma" in Overlay(board.bitstream).ip_dict)
            path = Path(board.bitstream).with_suffix(".hwh")
            path.write_text(path.read_text().replace("axi_dma_0", "other_dma"))
            print("other_dma" in Overlay(board.bitstream).ip_dict)
        """,
    )
    assert lines == ["False", "True"]


def test_metadata_of_another_design_are_not_taken_for_ones_own(notes):
    """Two boards in one process; the second overlay is not downloaded, and leaves notes, too."""
    lines = run(
        notes,
        """
        with VirtualBoard(designs.loopback(), designs.filter_3x3(2, 3)) as board:
            from pynq import Overlay
            first, second = board.bitstreams
            Overlay(first)
            Overlay(second, download=False)
            print("filter_3x3_0" in Overlay(first).ip_dict)
            print("filter_3x3_0" in Overlay(second).ip_dict)
        """,
    )
    assert lines == ["False", "True"]


def test_nothing_stays_when_the_process_ends(notes):
    (folder,) = run(
        notes,
        """
        from labkit.fpga.board.pynq_package import pynq_cache
        with VirtualBoard(port=0):
            print(pynq_cache.keep_own())
        """,
    )
    assert Path(folder).name == "pl_server" and not Path(folder).parent.exists()


def test_a_process_without_a_board_is_left_alone():
    """Looking whether pynq is there, or clearing notes, does not import it."""
    printed = run_python("""
        import sys
        from labkit.fpga.board.pynq_package import pynq_cache
        pynq_cache.files(), pynq_cache.clear()
        print("pynq" in sys.modules)
    """)
    assert printed == "False\n"
