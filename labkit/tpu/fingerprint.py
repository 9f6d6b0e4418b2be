"""The fingerprint of a traced program: the key under which the snapshot holds its answer.

It is made of the program's primitives, shapes, dtypes, parameters and constants, in order, but not
of names, source lines or a version's private settings. So it is the same under neighbouring
versions of jax, and another for every change of the program.
"""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_CALLS = {"jit", "pjit", "custom_jvp_call", "custom_vjp_call", "closed_call"}


def fingerprint(
    structure: Any,
    shardings: list | None,
    mesh: dict | None = None,
    donate: Sequence[int] = (),
) -> str:
    """24 hexadecimal digits for a program's structure, how its arguments are cut and over what,
    and which of them are donated."""
    whole = repr((structure, shardings) if mesh is None else (structure, shardings, mesh))
    if donate:
        whole += f" donates {sorted(donate)}"
    return _digest(whole.encode())[:24]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def structure_of(program: Any) -> tuple:
    """A jaxpr, closed or not, as nested tuples, its variables numbered as they come.

    Digests of its constants, then arguments, equations and results.
    """
    inner = getattr(program, "jaxpr", program)
    constants = getattr(program, "consts", ())
    numbers: dict = {}  # variable: its number
    held = [_digest(np.asarray(one).tobytes()) for one in constants]
    given = [_atom(one, numbers) for one in [*inner.constvars, *inner.invars]]
    equations = [_equation(one, numbers) for one in inner.eqns]
    results = [_atom(one, numbers) for one in inner.outvars]
    return held, given, equations, results


def _equation(one: Any, numbers: dict) -> tuple:
    """One step of a program: its primitive, parameters, operands and results."""
    name = one.primitive.name
    wanted = set(one.params)
    if name == "pallas_call":
        operands = [_atom(variable, numbers) for variable in one.invars]
        results = [_atom(variable, numbers) for variable in one.outvars]
        return name, _kernel(one.params), operands, results
    if name in _CALLS:  # versions name them differently, and give them settings of their own
        name = "call"
        wanted &= {"jaxpr", "call_jaxpr"}
    if name == "pvary":  # by jax's own analysis, and its axes differ from process to process
        wanted = set()
    parameters = []
    for key in sorted(wanted):
        value = one.params[key]
        derived = _is_over_a_mesh(value) and name != "sharding_constraint"  # by jax's own analysis
        if value is not None and not derived:
            parameters.append((key, _plain(value)))
    operands = [_atom(variable, numbers) for variable in one.invars]
    results = [_atom(variable, numbers) for variable in one.outvars]
    return name, parameters, operands, results


def _atom(one: Any, numbers: dict) -> tuple:
    """Dtype and shape of a variable with its number, or of a literal with its value."""
    aval = one.aval
    dtype = str(getattr(aval, "dtype", aval))
    shape = getattr(aval, "shape", ())
    if hasattr(one, "val"):  # a number written into the program
        value = np.asarray(one.val).tolist()
        return dtype, shape, value
    number = numbers.setdefault(one, len(numbers))
    return dtype, shape, number


def _plain(value: Any) -> Any:
    """A parameter without anything that differs from process to process."""
    if hasattr(value, "eqns") or hasattr(value, "jaxpr"):  # a program within the program
        return structure_of(value)
    if isinstance(value, set | frozenset):  # their order differs from process to process
        return tuple(sorted(map(repr, value)))
    if hasattr(value, "axis_names") and hasattr(value, "axis_sizes"):  # a mesh
        return value.axis_names, value.axis_sizes
    if _is_over_a_mesh(value):
        return _plain(value.mesh), tuple(value.spec)
    if isinstance(value, tuple | list):
        return tuple(_plain(part) for part in value)
    if isinstance(value, np.dtype | np.generic):
        return str(value)
    return repr(value)


def _is_over_a_mesh(value: Any) -> bool:
    """Is it a sharding, and not over the empty mesh of a program for one device?"""
    return hasattr(value, "spec") and bool(getattr(value, "mesh", None) and value.mesh.axis_names)


def _kernel(parameters: dict) -> list:
    """What of a Pallas kernel counts: its body, grid, blocks with their index maps, and settings.

    Its name, the lines of its source and how it is interpreted do not.
    """
    grid = parameters["grid_mapping"]
    blocks = [
        (
            tuple(getattr(size, "block_size", size) for size in one.block_shape),
            structure_of(one.index_map_jaxpr),
            str(one.transformed_block_aval),
        )
        for one in grid.block_mappings
    ]
    aliases = tuple(parameters["input_output_aliases"])
    return [
        tuple(grid.grid),
        blocks,
        _chosen(parameters["compiler_params"]),
        aliases,
        structure_of(parameters["jaxpr"]),
    ]


def _chosen(settings: Mapping) -> list[tuple]:
    """A kernel's settings for each compiler, without those that are what they are for everybody:
    a later version of jax may have more of these."""
    chosen = []
    for compiler, one in sorted(settings.items()):
        for field in dataclasses.fields(one):
            value = getattr(one, field.name)
            if value != field.default:
                chosen.append((compiler, field.name, repr(value)))
    return chosen
