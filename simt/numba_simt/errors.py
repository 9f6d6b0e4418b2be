"""The errors of the SIMT machine, and what says that a name is missing."""

from collections.abc import Callable
from typing import NoReturn


class KernelError(RuntimeError):
    """A kernel that cannot be launched, or that had to be stopped."""


class CompileError(KernelError):
    """A kernel that uses what CUDA Python, or this machine, does not have."""

    def __init__(self, sentence: str, filename: str = "", line: int = 0, text: str = "") -> None:
        where = f"line {line}: `{text.strip()}`: " if line else ""
        super().__init__(where + sentence)
        self.filename = filename
        self.line = line
        self.text = text


class LimitError(CompileError):
    """A kernel that uses what Numba takes and this machine does not: its launch is refused."""


class UsageError(KernelError, ValueError, TypeError):
    """What CUDA refuses of the host; where Numba raises ValueError or TypeError, this is both."""


class BackwardsError(UsageError, NotImplementedError):
    """Numba raises NotImplementedError here."""


class CudaSupportError(KernelError):
    """No CUDA here; the SIMT machine never says so."""


class Misfit(ValueError):
    """What was given does not fit a kernel, which refuses it with its line: see `refuse`."""


class Missing(KernelError, AttributeError):
    """What an object of numba.cuda has and ours has not; `hasattr` says no."""


def lacking(what: str, instead: str = "README.md of numba-simt says what it has") -> Callable:
    """A `__getattr__` that names what is missing."""

    def missing(self: object, name: str) -> NoReturn:
        raise Missing(f"{what} of the SIMT machine has no {name!r}: {instead}.")

    return missing
