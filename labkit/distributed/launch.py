"""`launch`: a function, in as many real processes as you like, from a notebook's cell.

    def hello(rank, ranks):
        return f"rank {rank} of {ranks}"

    launch(hello, 2)                    # ["rank 0 of 2", "rank 1 of 2"]

The processes have joined one group of `torch.distributed` before the function begins, so that
`dist.all_reduce` and the like work in it. Lesson processes_and_collectives.
"""

import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from labkit.distributed.errors import LaunchError

TIMEOUT = 60.0  # seconds
RANK_BYTES = 150 << 20  # of memory that a rank has for itself, once it has joined the group
MOST_RANKS = 64


def launch(
    function: Callable[..., Any],
    ranks: int,
    *args: Any,
    backend: str | None = None,
    timeout: float = TIMEOUT,
) -> list[Any]:
    """What `function(rank, ranks, *args)` returns in each of `ranks` processes, in their order.

    function   may be defined in a notebook; what it uses is sent along
    backend    "gloo", "nccl" or "mpi"; by default NCCL if there is a GPU for each rank, else Gloo
    timeout    seconds from when all ranks have begun, after which all processes are ended

    What the ranks print follows when all have ended, rank after rank, each line with its rank.
    Started by torchrun, nothing is launched: this process is one rank of those that torchrun has
    started, and every rank gets all results.

    Raises LaunchError for what cannot be launched, for a function that raises in a rank (with the
    first traceback), for a rank that dies, for ranks that do not end in time (with the line at
    which each of them waits), and for collectives that not all ranks call alike. Interrupted, it
    says where the ranks were. No process is left behind.
    """
    from labkit.distributed import torchrun
    from labkit.distributed.backends import chosen_backend

    _refuse_wrong(function, ranks, timeout)
    if torchrun.is_here():
        return torchrun.run(function, ranks, args, backend)
    backend = chosen_backend(ranks, backend)
    _refuse_too_many(ranks)
    with tempfile.TemporaryDirectory(prefix="labkit-ranks-") as folder:
        return _launched(packed(function, args), ranks, backend, timeout, Path(folder))


def _launched(call: bytes, ranks: int, backend: str, timeout: float, folder: Path) -> list[Any]:
    from labkit.distributed import ledger, told
    from labkit.distributed.backends import on_one_machine
    from labkit.distributed.processes import Processes
    from labkit.distributed.rank import Job

    environment = dict(os.environ) | on_one_machine()
    job = Job(call, ranks, backend, str(folder / "meeting"), environment, str(folder))
    with Processes(job) as processes:
        try:
            processes.listen(timeout)
        except KeyboardInterrupt:
            told.show_output(processes.ranks)
            where = told.places(processes.ranks, processes.ask_where())
            raise KeyboardInterrupt(f"All ranks were ended:\n{where}") from None
        late = processes.ask_where() if _is_late(processes) else {}
        told.show_output(processes.ranks)
        ledgers = [list(ledger.read(ledger.of_rank(folder, rank))) for rank in range(ranks)]
        if sentence := told.ending(processes.ranks, late, timeout, ledgers):
            raise LaunchError(sentence)
        return [pickle.loads(rank.answer.value) for rank in processes.ranks]


def _is_late(processes: Any) -> bool:
    return not any(rank.failed for rank in processes.ranks) and any(
        rank.running for rank in processes.ranks
    )


def packed(function: Callable, args: tuple) -> bytes:
    """The function and its arguments as bytes; raises LaunchError with what cannot be sent."""
    import cloudpickle

    try:
        return cloudpickle.dumps((function, args))
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


def _refuse_too_many(ranks: int) -> None:
    """Raises LaunchError where the memory that is free would not do."""
    free = _free_memory()
    if free and ranks * RANK_BYTES > free:
        raise LaunchError(
            f"{ranks} ranks need about {ranks * RANK_BYTES / 1e9:.1f} GB of memory, and "
            f"{free / 1e9:.1f} GB are free here: launch at most {max(free // RANK_BYTES, 1)}."
        )


def _free_memory() -> int:
    """Bytes that new processes may take; 0 where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
    except OSError:
        return 0
    values = {line.partition(":")[0]: line.split()[1] for line in lines}
    return int(values.get("MemAvailable", 0)) * 1024
