"""`launch`: a function, in as many real processes as you like, from a notebook's cell.

    def hello(rank, ranks):
        return f"rank {rank} of {ranks}"

    launch(hello, 2)                    # ["rank 0 of 2", "rank 1 of 2"]

The processes have joined one group of `torch.distributed` before the function begins, so that
`dist.all_reduce` and the like work in it. Lesson processes_and_collectives.
"""

import os
import sys
from collections.abc import Callable
from contextlib import closing
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from labkit.distributed.connections import closed_network
from labkit.distributed.errors import LaunchError, LaunchInterrupted, NoClosedNetwork
from labkit.distributed.launching.rank_network import RankNetwork

TIMEOUT = 60.0  # seconds
RANK_BYTES = 150 << 20  # of memory that a rank has for itself, once it has joined the group
MOST_RANKS = 64


def launch(
    function: Callable[..., Any],
    ranks: int,
    *args: Any,
    backend: str | None = None,
    timeout: float = TIMEOUT,
    live: bool = False,
    outside: bool = False,
) -> list[Any]:
    """What `function(rank, ranks, *args)` returns in each of `ranks` processes, in their order.

    function   may be defined in a notebook; what it uses is sent along
    args       copies of them: no rank sees what another one changes. Large arrays and tensors lie
               in memory once, until a rank writes to them
    backend    "gloo", "nccl" or "mpi"; by default NCCL if there is a GPU for each rank, else Gloo
    timeout    seconds from when all ranks have begun, after which all processes are ended
    live       whether the lines of all ranks appear as they come
    outside    whether ranks may reach other machines, and servers of other processes

    What a rank prints appears line by line, behind its number. Without `live`, those of rank 0 come
    at once, and those of each other rank when the ranks before it have ended: so the same program
    always shows the same.

    Ranks are as torchrun starts them: in one group of torch.distributed, with RANK, LOCAL_RANK and
    WORLD_SIZE in their environment; a function that calls `init_process_group` itself may do so.
    They may start processes, as a DataLoader does with `num_workers`; these end with them.
    Gloo asks nobody who he is. So its ranks have a loopback of their own and nothing else, in a
    network namespace of Linux. With `outside`, with an interface in GLOO_SOCKET_IFNAME, on macOS,
    and in Docker without SYS_ADMIN, they listen on the machine's loopback instead: on a machine
    with other users, these can join there, and run code as you. So they can where NCCL is used.
    Started by torchrun, nothing is launched: this process is one rank of those that torchrun has
    started, and every rank gets all results.

    Raises LaunchError for what cannot be launched, for a function that raises in a rank (with the
    first traceback), for a rank that dies, for ranks that do not end in time (with the line at
    which each of them waits), and, as soon as it happens, for a collective that ranks call with
    unlike sizes, dtypes, operations or roots. Interrupted, it raises LaunchInterrupted, a
    KeyboardInterrupt that says where the ranks were. No process is left behind.
    """
    from labkit.distributed.launching import launch_folder, torchrun
    from labkit.distributed.launching.backends import chosen_backend
    from labkit.distributed.launching.parcels import Parcel

    _refuse_wrong(function, ranks, timeout)
    if torchrun.is_here():
        return torchrun.run(function, ranks, args, backend)
    backend = chosen_backend(ranks, backend)
    try:
        parcel = packed(function, args, by=Parcel.of)
        _refuse_too_large(ranks, parcel.size)
        with launch_folder.of_launch() as folder:
            return _launched(parcel, ranks, backend, timeout, live, outside, folder)
    except KeyboardInterrupt as interrupt:
        raise LaunchInterrupted(str(interrupt) or "No rank is left.") from None


def _launched(
    parcel: Any,
    ranks: int,
    backend: str,
    timeout: float,
    live: bool,
    outside: bool,
    folder: Path,
) -> list[Any]:
    from labkit.distributed.launching import failures
    from labkit.distributed.launching.backends import on_one_machine
    from labkit.distributed.launching.parcels import SharedFile
    from labkit.distributed.launching.processes import Processes
    from labkit.distributed.launching.rank import Job
    from labkit.distributed.launching.screen import Screen

    with SharedFile() as call:
        spans = parcel.write(call)
        chosen = on_one_machine()  # empty where the user has chosen an interface
        network = network_of_ranks() if chosen and backend == "gloo" and not outside else None
        environment = dict(os.environ) | chosen
        meeting = str(folder / "meeting")
        job = Job(spans, ranks, backend, meeting, environment, network, str(folder))
        with Processes(job, call) as processes:
            screen = Screen(processes.ranks, live)
            try:
                return _results(processes, screen, timeout, folder)
            except KeyboardInterrupt:
                where = failures.places(processes.ranks, processes.ask_where())
                screen.show_all()
                raise KeyboardInterrupt(f"All ranks were ended:\n{where}") from None


def _results(processes: Any, screen: Any, timeout: float, folder: Path) -> list[Any]:
    """What the ranks return, in the end; raises LaunchError with what is wrong with it."""
    from labkit.distributed.launching import disagreements, failures, ledger
    from labkit.distributed.launching.parcels import unpacked

    ranks = processes.ranks
    paths = [ledger.of_rank(folder, rank.number) for rank in ranks]
    with closing(disagreements.Watch(paths)) as watch:

        def look() -> bool:
            screen.show()
            return watch.sees_one()

        processes.listen(timeout, look)
    late = {} if any(rank.failed for rank in ranks) else processes.ask_where()
    screen.show_all()
    calls = [list(ledger.read(path)) for path in paths]
    closed = processes.job.network is not None
    if sentence := failures.ending(ranks, late, timeout, calls, closed):
        raise LaunchError(sentence)
    return [unpacked(rank.result, rank.answer.value) for rank in ranks]


def packed(function: Callable, args: tuple, by: Callable[[tuple], Any] | None = None) -> Any:
    """The function and its arguments, pickled; raises LaunchError with what cannot be sent.

    by   what pickles them: by default cloudpickle, into bytes
    """
    import cloudpickle

    try:
        return (by or cloudpickle.dumps)((function, args))
    except Exception as error:
        what, why = _culprit(function, args) or ("its function", error)
        raise LaunchError(
            f"launch cannot send {what} to other processes: {why}. Processes share no memory, so "
            "open files, locks and connections have to be made inside the function."
        ) from None


def _culprit(function: Callable, args: tuple) -> tuple[str, Exception] | None:
    """What of a call cannot be pickled: its name in a sentence, and why."""
    import cloudpickle

    parts = {f"argument {place}": value for place, value in enumerate(args)}
    code = getattr(function, "__code__", None)
    for name in code.co_names if code else ():
        if name in function.__globals__:
            parts[f"`{name}`, which the function uses,"] = function.__globals__[name]
    cells = getattr(function, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars if code else (), cells, strict=True):
        parts[f"`{name}`, which the function uses,"] = cell.cell_contents
    for what, value in parts.items():
        try:
            cloudpickle.dumps(value)
        except Exception as error:
            return what, error
    return None


def _refuse_wrong(function: Callable, ranks: int, timeout: float) -> None:
    if not callable(function):
        raise LaunchError(
            f"launch takes a function of (rank, ranks, ...); this is of type "
            f"{type(function).__name__}."
        )
    if isinstance(ranks, bool) or not isinstance(ranks, int) or not 1 <= ranks <= MOST_RANKS:
        raise LaunchError(f"launch: ranks is a whole number from 1 to {MOST_RANKS}, not {ranks!r}.")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise LaunchError(f"launch: timeout is a number of seconds above 0, not {timeout!r}.")


def _refuse_too_large(ranks: int, size: int) -> None:
    """Raises LaunchError where the memory that is free would not do.

    size   bytes of the function and its arguments: once for all ranks, and once more for each rank,
           which may change its copy
    """
    from labkit.checks.watch import memory

    free = memory.free_memory()
    needed = size + ranks * (RANK_BYTES + size)
    if not 0 < free < needed:
        return
    most = max(free - size, 0) // (RANK_BYTES + size)
    of_what = f", {size / 1e9:.1f} GB of arguments in each" if size > RANK_BYTES else ""
    advice = f"launch at most {most}" if most else "hand over less, such as the path of a file"
    raise LaunchError(
        f"{ranks} ranks need about {needed / 1e9:.1f} GB of memory{of_what}, and "
        f"{free / 1e9:.1f} GB are free here: {advice}."
    )


@cache
def network_of_ranks() -> RankNetwork | None:
    """The network of all ranks which this process launches; None where the system allows none.

    A process makes it and ends; the descriptors keep it for as long as this process lives.
    """
    if sys.platform != "linux":
        return None
    from labkit.distributed.launching.processes import process_context, without_program

    context = process_context()
    here, there = context.Pipe()
    process = context.Process(target=_make, args=(there,))
    with without_program():
        process.start()
    there.close()
    with here:
        network = _opened(process.pid) if here.recv() else None
    process.join()
    process.close()
    return network


def _opened(pid: int) -> RankNetwork:
    names = ("user", "net")
    return RankNetwork(*(os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY) for name in names))


def _make(there: Connection) -> None:
    """Enters a new network, says whether it could, and stays until it has been looked at."""
    try:
        closed_network.enter()
        there.send(True)
        there.poll(None)
    except NoClosedNetwork:
        there.send(False)
