"""The rank processes of one case, and the referee between them.

    run = run_ranks(jobs)           # one RefereedJob for each rank
    run.referee.seats, run.printed

Whatever happens, no process is left behind.
"""

import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pickle import UnpicklingError

from labkit.checks.watch.clock import ROUNDS
from labkit.checks.watch.meter import seconds_of_a_round
from labkit.distributed.judging.posts import Ended
from labkit.distributed.judging.referee import Referee
from labkit.distributed.judging.refereed_rank import RefereedJob, run_refereed
from labkit.distributed.launching.known_classes import read_known
from labkit.distributed.launching.processes import kill_group, process_context, without_program

LOOK = 1.0  # seconds between two looks at the processes themselves; nothing is decided by them
WORN_OUT = 10  # times the budget of a function: then nothing can have ended it from within
PRINTED = 4_000  # bytes of a rank's output that are kept
CHUNK = 1 << 16


@dataclass
class Player:
    """A rank's process, what it says to the referee, what it prints, and what keeps it alive."""

    number: int
    process: BaseProcess
    talk: Connection
    output: Connection
    lifeline: Connection
    printed: bytearray = field(default_factory=bytearray)


@dataclass(frozen=True)
class RefereedRun:
    """What came of a case; `printed` is what each rank printed."""

    referee: Referee
    printed: list[str]


def run_ranks(jobs: list[RefereedJob]) -> RefereedRun:
    """Runs one process for each job, until all have ended or nothing can go on."""
    referee = Referee(len(jobs))
    players: list[Player] = []
    try:
        for job in jobs:
            players.append(_started(job))
        look = time.monotonic() + LOOK
        while not referee.all_stand or _answer(players, referee.settle()):
            _hear(players, referee)
            if time.monotonic() > look:
                _look_at(players, referee)
                look = time.monotonic() + LOOK
        _hear_the_last(players)
    finally:
        _end(players)
    return RefereedRun(referee, [player.printed.decode("utf-8", "replace") for player in players])


def _started(job: RefereedJob) -> Player:
    context = process_context()
    talk, talk_there = context.Pipe()
    output, output_there = context.Pipe(duplex=False)
    lifeline_there, lifeline = context.Pipe(duplex=False)
    there = (talk_there, output_there, lifeline_there)
    process = context.Process(target=run_refereed, args=(job, *there), daemon=True)
    with without_program():
        process.start()
    for connection in there:
        connection.close()
    return Player(job.rank, process, talk, output, lifeline)


def _hear(players: list[Player], referee: Referee) -> None:
    """Takes what comes first, and answers it."""
    sources = {}
    for player in players:
        if not player.output.closed:
            sources[player.output] = player
        if not referee.seats[player.number].gone:
            sources[player.talk] = player
    for source in wait(list(sources), LOOK):
        player = sources[source]
        if source is player.output:
            _take_output(player)
        else:
            _take_word(player, players, referee)


def _look_at(players: list[Player], referee: Referee) -> None:
    """Ends what a rank cannot end or tell by itself: a loop in C, a child that outlives it."""
    for player in players:
        if referee.seats[player.number].gone:
            continue
        used = _processor_time(player.process.pid)
        if used is None:  # it is gone: what it has started must not keep its connections open
            kill_group(player.process)
        elif used > WORN_OUT * ROUNDS * seconds_of_a_round():
            referee.hear(player.number, Ended(endless=True))
            kill_group(player.process)


def _processor_time(pid: int) -> float | None:
    """Seconds that a process has used; 0 where the system does not say, None if it is gone."""
    try:
        if sys.platform == "linux":
            return time.clock_gettime(~pid << 3 | 2)  # its clock's number: clock_getcpuclockid(3)
        os.kill(pid, 0)
    except OSError:
        return None
    return 0.0


def _take_word(player: Player, players: list[Player], referee: Referee) -> None:
    try:
        said = read_known(player.talk.recv_bytes())
    except UnpicklingError:  # it is not what a rank says
        kill_group(player.process)
        player.process.join()
        referee.died(player.number, player.process.exitcode)
        return
    except (EOFError, OSError):
        kill_group(player.process)  # it ends; or its function has closed what is not its own
        player.process.join()
        referee.died(player.number, player.process.exitcode)
        return
    _answer(players, referee.hear(player.number, said))


def _answer(players: list[Player], answers: dict) -> bool:
    """Sends the answers; whether there were any."""
    for number, answer in answers.items():
        with suppress(OSError):  # it has died; its next word will say so
            players[number].talk.send(answer)
    return bool(answers)


def _take_output(player: Player) -> None:
    chunk = os.read(player.output.fileno(), CHUNK)
    player.printed += chunk[: max(PRINTED - len(player.printed), 0)]
    if not chunk:
        player.output.close()


def _hear_the_last(players: list[Player]) -> None:
    """What was printed before the last word, and lies in the pipes."""
    for player in players:
        while not player.output.closed and player.output.poll():
            _take_output(player)


def _end(players: list[Player]) -> None:
    for player in players:
        player.lifeline.close()
        kill_group(player.process)  # it has said all that it has to say
    for player in players:
        player.process.join()  # it was killed: on a busy machine it takes its time to be gone
        player.process.close()
        player.talk.close()
        player.output.close()
