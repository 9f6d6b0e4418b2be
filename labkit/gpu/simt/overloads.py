"""Signatures given to `cuda.jit`: which one fits the arguments, and what they become.

Of several Numba takes the one to which the arguments convert best, and refuses where two are as
good. It compiles nothing else once there is a signature.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np


class Argument(NamedTuple):
    """An argument of a launch."""

    type: object  # Numba's type
    value: object  # a Python number, or the device memory
    host: np.ndarray | None = None  # filled after success


class Misfit(ValueError):
    """No signature fits, or several fit equally well."""


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
    from labkit.gpu.simt.arithmetic import context

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


def fit(signatures: tuple, read: list[Argument], refuse: Callable) -> list[Argument]:
    """The arguments of a launch as the best signature wants them."""
    try:
        wanted = best(signatures, tuple(argument.type for argument in read)).args
    except Misfit as error:
        refuse(str(error))
    fitted = list(map(_converted, wanted, read))
    for argument, kind, converted in zip(read, wanted, fitted, strict=True):
        if converted is None:
            refuse(f"{argument.value!r} is no {kind}, which the signature wants: convert it.")
    return fitted


def _converted(wanted: object, given: Argument) -> Argument | None:
    """The argument as a signature's type wants it: integers must fit, floats are rounded."""
    from numba import types

    if isinstance(wanted, types.Array):
        return given._replace(type=wanted)
    value = np.asarray(given.value).astype(str(wanted)).item()
    exact = isinstance(wanted, types.Integer | types.Boolean)
    return None if exact and value != given.value else Argument(wanted, value)
