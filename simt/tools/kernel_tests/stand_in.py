"""The SIMT machine in place of `numba.cuda`, for tests that were written for the real one.

What a test does with kernels comes from the machine. What only describes things to the host (types,
errors, configuration, the tests' own helpers) comes from the real package, without its driver: it
cannot run anything. All other names are refused, in the machine's words.
"""

import functools
import importlib
import os
import sys
from types import ModuleType
from typing import NoReturn

os.environ["NUMBA_DISABLE_CUDA"] = "1"  # read by Numba when it is imported
os.environ.pop("NUMBA_ENABLE_CUDASIM", None)

import numba
import numba.cuda as real
from numba.cuda.descriptor import cuda_target

import numba_simt
from numba_simt import cuda as api
from numba_simt import random
from numba_simt.launching import dispatcher

from . import agreement, sources, testing
from .used import Used

COMPILE = """compile compile_ptx compile_all compile_for_current_device
    compile_ptx_for_current_device""".split()
HOST = """HAS_NUMBA config config_default_cc implementation CudaSupportError KernelRuntimeError
    CUSource PTXSource LTOIR Archive Cubin Fatbin LinkableCode Object literal declare_device
    set_memory_manager BaseCUDAMemoryManager HostOnlyCUDAMemoryManager GetIpcHandleMixin
    IpcHandle""".split()
LIBRARY = ["kernels"]  # kernels that Numba brings, for its own cuda.jit
REAL = "core.errors tests.support extending bf16".split()  # must see the real numba.cuda


class StandIn(ModuleType):
    """`numba.cuda`, name by name."""

    def __getattr__(self, name: str) -> object:
        if hasattr(api, name):
            if not name.startswith("__"):
                Used.names |= {name}
            return getattr(api, name)
        thing = getattr(real, name, None)
        describes = isinstance(thing, ModuleType | numba.types.Type) or hasattr(real.types, name)
        if name in (*HOST, *COMPILE) or (describes and name not in LIBRARY):
            return thing
        return getattr(api, name)  # an AttributeError, with the machine's sentence


class Missing:
    """`from numba.cuda import name`, which the machine has not: refused when it is called."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *_: object, **__: object) -> NoReturn:
        getattr(api, self.__name__)
        raise AssertionError(f"the machine has cuda.{self.__name__} after all")


class Library(ModuleType):
    """A module of kernels that Numba brings: all its names are missing here."""

    def __getattr__(self, name: str) -> Missing:
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(self.__name__.split(".")[2])


def install() -> None:
    """Puts the machine where `numba.cuda` is, for the rest of this process."""
    for name in REAL:
        importlib.import_module(f"numba.cuda.{name}")
    cuda_target.typing_context.refresh()  # imports what Numba imports late
    cuda_target.target_context.refresh()
    for name in COMPILE:
        for owner in real, real.compiler:
            setattr(owner, name, _compile)
    module = StandIn("numba.cuda")
    module.__path__, module.__spec__ = real.__path__, real.__spec__
    sys.modules["numba.cuda"] = numba.cuda = module
    for name in dir(real):
        if not (name.startswith("_") or hasattr(module, name)):
            sys.modules[f"numba.cuda.{name}"] = Missing(name)  # where `from` looks at last
    sys.modules["numba.cuda.random"] = random
    for name in "kernels.transpose kernels.reduction".split():
        sys.modules[f"numba.cuda.{name}"] = Library(f"numba.cuda.{name}")
    sys.modules["numba.cuda.testing"] = module.testing = testing.module(real)
    numba.vectorize = _for_both(numba.vectorize, numba_simt.vectorize)
    numba.guvectorize = _for_both(numba.guvectorize, numba_simt.guvectorize)
    dispatcher.LaunchConfiguration.run = _counted(dispatcher.LaunchConfiguration.run)
    for name in "compile", "forall":
        setattr(dispatcher.Kernel, name, _named(getattr(dispatcher.Kernel, name)))
    testing.measure_no_memory(sys.modules["numba.cuda.tests.support"])
    agreement.install()
    sources.install()


def _compile(*_: object, **__: object) -> NoReturn:
    raise testing.NotAboutKernels("asks the compiler alone")


def _for_both(numbas: object, ours: object) -> object:
    """numba.vectorize and guvectorize: Numba's for the CPU, the machine's for target="cuda"."""

    @functools.wraps(numbas)
    def choose(*arguments: object, **options: object) -> object:
        return (ours if options.get("target") == "cuda" else numbas)(*arguments, **options)

    return choose


def _counted(original: object) -> object:
    @functools.wraps(original)
    def run(*arguments: object, **named: object) -> object:
        Used.launches, Used.words_read = Used.launches + 1, False
        return original(*arguments, **named)

    return run


def _named(original: object) -> object:
    """A method of kernels, whose use is noted."""

    @functools.wraps(original)
    def method(*arguments: object, **named: object) -> object:
        Used.names |= {original.__name__}
        return original(*arguments, **named)

    return method
