"""What a program taught Numba: functions, methods and attributes that it overloads for kernels."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

_REGISTRIES = ("numba.core.typing.templates", "numba.cuda.typing.templates")
_TARGETS = ("cuda", "gpu", "generic")  # those that a kernel sees, the best first
_TESTS = "numba.cuda.tests."


@dataclass(frozen=True)
class ExtendedMethod:
    """x.name of a method that a program has overloaded."""

    owner: object
    name: str
    overloads: tuple


def overloads_of(function: object) -> tuple:
    """The overloads of a function, the best first."""
    return tuple(one for one in _of_users("functions") if one.key is function)


def attributes_of(kind: object, name: str) -> tuple:
    """The overloads of a method or an attribute of this Numba type, the best first."""
    found = [one for one in _of_users("attributes") if getattr(one, "_attr", None) == name]
    return tuple(one for one in found if _is_of(kind, one.key))


def _is_of(kind: object, key: object) -> bool:
    return isinstance(kind, key) if isinstance(key, type) else kind == key


def _of_users(what: str) -> tuple:
    """Templates that Numba keeps, but those of its own: they are for its own compiler."""
    found = []
    for name in _REGISTRIES:
        if name in sys.modules:
            known = getattr(sys.modules[name].builtin_registry, what)
            found += _filtered(name, what, len(known))
    return tuple(sorted(found, key=_specific))


@lru_cache(maxsize=64)
def _filtered(name: str, what: str, count: int) -> tuple:
    """Those of the first `count` of one registry; more may come, none goes."""
    known: Sequence = getattr(sys.modules[name].builtin_registry, what)[:count]
    return tuple(one for one in known if _is_a_users(getattr(one, "_overload_func", None), one))


def _is_a_users(function: Callable | None, template: type) -> bool:
    module = getattr(function, "__module__", None) or "numba."
    if module.endswith(".extending"):  # register_jitable overloads a function with itself
        module = getattr(template.key, "__module__", None) or "numba."
    own = module.partition(".")[0] == "numba" and not module.startswith(_TESTS)
    return not own and _target(template) in _TARGETS


def _target(template: type) -> str:
    return getattr(template, "metadata", {}).get("target", "generic")


def _specific(template: type) -> int:
    return _TARGETS.index(_target(template))
