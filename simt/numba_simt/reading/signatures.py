"""Signatures given to `cuda.jit`: which one fits the arguments, and what they become.

Of several Numba takes the one to which the arguments convert best, and refuses where two are as
good. It compiles nothing else once there is a signature.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from numba_simt.errors import Misfit


class Argument(NamedTuple):
    """An argument of a launch."""

    type: object  # Numba's type
    value: object  # a Python number, an array: in device memory, or of the host; a tuple of these
    host: bool = False  # an array of the host, which is filled after success
    back: np.ndarray | None = None  # an array of the host that gets device memory after success

    def leaves(self) -> "Iterator[Argument]":
        """The argument, or the items of a tuple: numbers and arrays, in their order."""
        if not isinstance(self.value, tuple):
            yield self
            return
        for item in self.value:
            yield from item.leaves()


def read_signature(signature: object, parameters: Sequence[str], device: bool) -> object:
    """Numba's signature of "void(float32[:], int32)", of types or a tuple of them; or Misfit."""
    from numba import types
    from numba.core import typing
    from numba.core.sigutils import normalize_signature

    try:
        given, result = normalize_signature(signature)
    except Exception as error:  # of Numba or of the text, of many kinds
        raise Misfit(f"{signature!r} is no signature: {error}") from error
    if len(given) != len(parameters):
        names = ", ".join(parameters)
        raise Misfit(
            f"the signature {signature} has {len(given)} arguments, but it takes ({names})."
        )
    if not device and result not in (None, types.none):
        raise Misfit(
            f"the signature {signature} returns {result}, but a kernel returns nothing: void."
        )
    return typing.signature(result, *given)


@cache
def best(signatures: tuple, given: tuple, device: bool = False) -> object:
    """The signature to which arguments of these types convert best; Misfit where Numba refuses.

    Where two are as good, a call of a device function takes the first, and a launch is refused.
    """
    from numba_simt.reading.typing_rules import context

    kinds = ", ".join(map(str, given))
    try:
        found = context().resolve_overload("", signatures, given, {}, allow_ambiguous=device)
    except TypeError as error:
        offered = " and ".join(map(_arguments, signatures))
        raise Misfit(f"({kinds}) fits {offered} equally well: convert the arguments.") from error
    if found is None:
        offered = " or ".join(map(_arguments, signatures))
        raise Misfit(f"({kinds}) does not fit its signature {offered}: convert the arguments.")
    return found


def _arguments(signature: object) -> str:
    """The arguments of a signature, as Numba writes types."""
    return f"({', '.join(map(str, signature.args))})"


def fit(signatures: tuple, arguments: list[Argument]) -> list[Argument]:
    """The arguments of a launch as the best signature wants them; Misfit where none fits."""
    wanted = best(signatures, tuple(argument.type for argument in arguments)).args
    return [_converted(kind, given) for kind, given in zip(wanted, arguments, strict=True)]


def _converted(wanted: object, given: Argument) -> Argument:
    """The argument as a signature's type wants it: integers must fit, floats are rounded."""
    from numba import types

    if isinstance(wanted, types.BaseTuple):
        items = [_converted(*pair) for pair in zip(wanted, given.value, strict=True)]
        return Argument(wanted, tuple(items))
    if isinstance(wanted, types.Array):
        return given._replace(type=wanted)
    value = np.asarray(given.value).astype(str(wanted)).item()
    exact = isinstance(wanted, types.Integer | types.Boolean)
    if exact and value != given.value:
        raise Misfit(f"{given.value!r} is no {wanted}, which the signature wants: convert it.")
    return Argument(wanted, value)
