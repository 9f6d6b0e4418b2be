"""What each rank tells of itself while it trains, in the event files that TensorBoard reads.

    with RankLog(folder, rank) as log:
        log.write(step, {"loss": 2.31, "tokens per second": 41_000})
    runs = read_events(folder)                  # {rank: [one mapping for each start of the rank]}
    runs[0][-1]["loss"]                         # [(step, value), ...]
    with tensorboard(folder) as address: ...    # the web page, until the block ends

    python -m labkit.distributed.monitoring FOLDER    # the web page, until Ctrl-C

Each rank writes into a folder of its own, so that no two processes share a file, and a new file
after each restart. An event file is a row of records: length, checksum of the length, data,
checksum of the data. Lesson restarts_and_monitoring.
"""

import argparse
import os
import re
import secrets
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from labkit.distributed.step_log import LogError

EVENTS = "events.out.tfevents.*"
HEADER = struct.Struct("<QI")  # length of the data, and its checksum
CHECKSUM = struct.Struct("<I")
ADDRESS = re.compile(r"http://\S+/(?=\s)")
PAUSE = 0.05  # seconds between two looks
EXIT_PATIENCE = 5.0
Series = dict[str, list[tuple[int, float]]]


class RankLog:
    """The event file of one rank, from one start of it to its end."""

    def __init__(self, folder: str | Path, rank: int) -> None:
        import psutil

        without_tensorflow()
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(Path(folder) / f"rank-{rank}"))
        self.process = psutil.Process()
        self.process.cpu_percent()  # the next call says what was used since this one

    def __enter__(self) -> "RankLog":
        return self

    def __exit__(self, *error: object) -> None:
        self.writer.close()

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Adds the values of a step, and this process's processor time (%) and memory (MiB).

        All of it is in the file when this returns: a rank that is killed loses none.
        """
        own = {
            "processor": self.process.cpu_percent(),
            "memory": self.process.memory_info().rss / 2**20,
        }
        for name, value in {**values, **own}.items():
            self.writer.add_scalar(name, value, step)
        self.writer.flush()


def read_events(folder: str | Path, up_to_damage: bool = False) -> dict[int, list[Series]]:
    """What the ranks have told: for each rank, for each of its starts, (step, value) by name.

    up_to_damage   of a damaged file, take the records before the damage

    Raises LogError where a file is damaged: the text says which one, where, and what to do.
    """
    folders = sorted(Path(folder).glob("rank-*"), key=_rank_of)
    if not folders:
        raise LogError(f"No rank has written events into {folder}: name the folder of a training.")
    return {_rank_of(one): _starts(one, up_to_damage) for one in folders}


def _starts(folder: Path, up_to_damage: bool) -> list[Series]:
    files = sorted(folder.glob(EVENTS), key=_begun)
    return [_series(file, up_to_damage) for file in files]


def _begun(file: Path) -> tuple[int, int]:
    """When a file was begun, as its name has it: in which second, and as which of its process."""
    seconds, *_, number = file.name.removeprefix("events.out.tfevents.").split(".")
    return int(seconds), int(number)


def _series(file: Path, up_to_damage: bool) -> Series:
    without_tensorflow()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = records(file)
    if found.damage and not up_to_damage:
        raise LogError(
            f"The event file {file} is damaged at byte {found.good_bytes:,} ({found.damage}). "
            f"{found.count} records before it are whole: `up_to_damage=True` takes these."
        )
    if not found.count:
        return {}
    read = EventAccumulator(str(file), size_guidance={"scalars": 0}).Reload()  # 0: all of them
    return {
        name: [(event.step, event.value) for event in read.Scalars(name)]
        for name in read.Tags()["scalars"]
    }


class Records(NamedTuple):
    """What an event file is made of: whole records, the bytes of these, and what follows them."""

    count: int
    good_bytes: int
    damage: str  # empty where nothing is damaged


def records(file: str | Path) -> Records:
    """Counts the whole records of an event file; reads it all, and trusts no length."""
    without_tensorflow()
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

    data = Path(file).read_bytes()
    count = place = 0
    while place < len(data):
        body = place + HEADER.size
        if body > len(data):
            return Records(count, place, "it is cut off")
        length, checksum = HEADER.unpack_from(data, place)
        if masked_crc32c(data[place : place + 8]) != checksum:
            return Records(count, place, "a length has another checksum")
        end = body + length + CHECKSUM.size
        if end > len(data):
            return Records(count, place, "it is cut off")
        (checksum,) = CHECKSUM.unpack_from(data, body + length)
        if masked_crc32c(data[body : body + length]) != checksum:
            return Records(count, place, "a record has another checksum")
        count += 1
        place = end
    return Records(count, place, "")


def _rank_of(folder: Path) -> int:
    return int(folder.name.removeprefix("rank-"))


def without_tensorflow() -> None:
    """Tells TensorBoard to do without TensorFlow, which takes seconds to load in each rank."""
    sys.modules.setdefault("tensorboard.compat.notf", ModuleType("tensorboard.compat.notf"))


@contextmanager
def tensorboard(folder: str | Path, timeout: float = 60.0) -> Iterator[str]:
    """TensorBoard's web page of a folder on this machine: its address; it ends with the block.

    Whoever has the address can read it: its path is a secret, and without it nothing is there.
    Raises LogError where it does not start within `timeout` seconds.
    """
    code = "from labkit.distributed.monitoring import serve_page; serve_page()"
    with tempfile.TemporaryFile() as output, tempfile.TemporaryDirectory() as own:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", code, str(folder)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            # It writes .tensorboard-info/pid-N.info there: in /tmp, into whatever file others link.
            env=os.environ | {"TMPDIR": own},
        )
        try:
            with suppress(BrokenPipeError), process.stdin:  # it has ended: `_address` says so
                process.stdin.write(f"/{secrets.token_hex(16)}\n".encode())
            yield _address(process, output, timeout)
        finally:
            process.terminate()
            try:
                process.wait(EXIT_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def serve_page() -> None:
    """What the process of `tensorboard` runs: a folder's page, under the path that it is told."""
    without_tensorflow()
    from tensorboard.program import TensorBoard

    board = TensorBoard()
    board.configure(
        logdir=sys.argv[1],
        path_prefix=sys.stdin.readline().strip(),  # others can read a command line
        host="127.0.0.1",
        port=0,
        load_fast="false",
    )
    sys.exit(board.main())


def _address(process: subprocess.Popen, output: tempfile.TemporaryFile, timeout: float) -> str:
    """Waits until TensorBoard has said where it is."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        output.seek(0)
        said = output.read().decode("utf-8", "replace")
        if found := ADDRESS.search(said):
            return found.group()
        if process.poll() is not None:
            break
        time.sleep(PAUSE)
    raise LogError(f"TensorBoard did not start: {said[-500:]}")


def main(words: Sequence[str] | None = None) -> None:
    """The command line: FOLDER."""
    parser = argparse.ArgumentParser(prog="monitoring", description="Show what ranks have told.")
    parser.add_argument("folder", type=Path)
    with tensorboard(parser.parse_args(words).folder) as address, suppress(KeyboardInterrupt):
        print(f"{address}\nOnly who has this address can read it. Ctrl-C ends it.", flush=True)
        while True:  # a signal just before a wait without end would not wake it
            time.sleep(1)


if __name__ == "__main__":
    main()
