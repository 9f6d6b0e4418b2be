"""The TPU room: the matrix unit, register by register; Google's TPU compiler; training on a TPU.

Each name is loaded when it is first used; `import labkit.tpu` loads neither jax nor tensorflow.
"""

from importlib import import_module

_HOMES = {
    "SystolicArray": "matrix_unit.systolic",
    "compile_for_tpu": "compiler",
    "preflight": "device",
    "strategy": "device",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"labkit.tpu has no {name!r}; it has {', '.join(_HOMES)}.")
    return getattr(import_module(f"labkit.tpu.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
