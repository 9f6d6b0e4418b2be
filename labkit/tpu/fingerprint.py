"""The fingerprint of a traced program: the key under which the snapshot holds its answer.

It is made of the program's primitives, shapes, dtypes, parameters and constants, in order, but not
of names, source lines or a version's private settings. So it is the same under neighbouring
versions of jax, and another for every change of the program.
"""

import hashlib
from typing import Any

import numpy as np

_CALLS = {"jit", "pjit", "custom_jvp_call", "custom_vjp_call", "closed_call"}


def fingerprint(structure: Any, shardings: list | None) -> str:
    """24 hexadecimal digits for a program's structure and how its arguments are cut."""
    return hashlib.sha256(repr((structure, shardings)).encode()).hexdigest()[:24]


def structure_of(program: Any) -> tuple:
    """A jaxpr, closed or not, as nested tuples, its variables numbered as they come.

    Digests of its constants, then arguments, equations and results.
    """
    inner = getattr(program, "jaxpr", program)
    constants = getattr(program, "consts", ())
    numbers: dict = {}
    held = [hashlib.sha256(np.asarray(one).tobytes()).hexdigest() for one in constants]
    given = [_atom(one, numbers) for one in [*inner.constvars, *inner.invars]]
    equations = [_equation(one, numbers) for one in inner.eqns]
    results = [_atom(one, numbers) for one in inner.outvars]
    return held, given, equations, results


def _equation(one: Any, numbers: dict) -> tuple:
    """One step of a program: its primitive, parameters, operands and results."""
    name = one.primitive.name
    parameters = sorted(one.params.items())
    if name in _CALLS:  # versions name them differently, and give them settings of their own
        name = "call"
        parameters = [(key, value) for key, value in parameters if key in ("jaxpr", "call_jaxpr")]
    parameters = [(key, _plain(value)) for key, value in parameters if value is not None]
    operands = [_atom(variable, numbers) for variable in one.invars]
    results = [_atom(variable, numbers) for variable in one.outvars]
    return name, parameters, operands, results


def _atom(one: Any, numbers: dict) -> tuple:
    """Dtype and shape of a variable with its number, or of a literal with its value."""
    dtype = str(getattr(one.aval, "dtype", one.aval))
    shape = getattr(one.aval, "shape", ())
    if hasattr(one, "val"):  # a number written into the program
        return dtype, shape, np.asarray(one.val).tolist()
    return dtype, shape, numbers.setdefault(one, len(numbers))


def _plain(value: Any) -> Any:
    """A parameter without anything that differs from process to process."""
    if hasattr(value, "eqns") or hasattr(value, "jaxpr"):  # a program within the program
        return structure_of(value)
    if isinstance(value, tuple | list):
        return tuple(_plain(part) for part in value)
    return str(value) if isinstance(value, np.dtype | np.generic) else repr(value)
