"""What stands for `numba.cuda.extending`: overloads that are Python, for kernels."""

from collections.abc import Callable
from functools import wraps
from typing import NoReturn

from numba import extending

from numba_simt.errors import Missing

register_jitable = extending.register_jitable


def _for_cuda(function: Callable) -> Callable:
    """The same decorator of Numba, for kernels if nothing else is said."""

    @wraps(function)
    def decorator(*arguments: object, target: str = "cuda", **options: object) -> object:
        return function(*arguments, target=target, **options)

    return decorator


overload = _for_cuda(extending.overload)
overload_method = _for_cuda(extending.overload_method)
overload_attribute = _for_cuda(extending.overload_attribute)


def __getattr__(name: str) -> NoReturn:
    raise Missing(
        f"numba.cuda.extending.{name} is not here: the SIMT machine takes overload, "
        "overload_method, overload_attribute and register_jitable, whose bodies are Python."
    )
