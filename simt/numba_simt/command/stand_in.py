"""The SIMT machine in place of `numba.cuda`, for programs that import the real one.

`import numba.cuda`, `from numba import cuda` and `from numba.cuda import grid` give
`numba_simt.cuda`; so do vectorize and guvectorize of Numba with target="cuda" run on the machine.
The real numba.cuda is not imported: without a driver it could not run anything, and it takes long.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import SimpleNamespace
from typing import NoReturn

from numba_simt import cuda
from numba_simt.errors import KernelError, Missing

NAME = "numba.cuda"
# Modules of numba.cuda that the machine has, and what stands for them.
SUBMODULES = {
    "cudadrv": "numba_simt.cudadrv",
    "extending": "numba_simt.extending",
    "random": "numba_simt.random",
    "types": "numba.core.types",
}
OTHERS = {"cupy": "numba_simt.cupy"}  # packages that would need a GPU
UFUNCS = ("vectorize", "guvectorize")


class MissingModule(KernelError, ModuleNotFoundError):
    """An import from numba.cuda of what the machine does not have."""


@contextmanager
def standing_in() -> Iterator[None]:
    """What is imported in the `with` block is the machine's."""
    import numba

    names = [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]
    names += [name for name in sys.modules if name.partition(".")[0] in OTHERS and _has(name)]
    hidden = {name: sys.modules.pop(name) for name in names}
    attributes = {name: vars(numba).get(name) for name in ("cuda", *UFUNCS)}
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    cuda.__path__ = []  # a package, to Python
    sys.modules[NAME] = numba.cuda = cuda
    submodules = _submodules()
    sys.modules.update({f"{NAME}.{name}": module for name, module in submodules.items()})
    added = [name for name in submodules if "." not in name and name not in vars(cuda)]
    for name in added:
        setattr(cuda, name, submodules[name])
    for name in UFUNCS:
        setattr(numba, name, _for_both(name, attributes[name]))
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in ("__path__", *added):
            delattr(cuda, name)
        for name in [name for name in sys.modules if name.startswith(NAME)]:
            del sys.modules[name]
        for name in OTHERS:
            if _has(name):
                sys.modules.pop(name, None)
        sys.modules.update(hidden)
        for name, thing in attributes.items():
            delattr(numba, name) if thing is None else setattr(numba, name, thing)


def _has(package: str) -> bool:
    """Whether the machine has something in place of a package."""
    return find_spec(OTHERS[package.partition(".")[0]]) is not None


def _submodules() -> dict[str, object]:
    """What `import numba.cuda.X` finds: a module, or the name of numba_simt.cuda."""
    found = {name: one for name, one in SUBMODULES.items() if find_spec(one)}
    modules = {name: import_module(one) for name, one in found.items()}
    parts = {
        f"{name}.{part}": thing
        for name, module in modules.items()
        for part, thing in vars(module).items()
        if isinstance(thing, SimpleNamespace)  # as `import numba.cuda.cudadrv.driver` has it
    }
    return modules | parts | {"libdevice": cuda.libdevice}


class _Finder:
    """Asked for whatever is not in sys.modules: says what of numba.cuda is missing.

    `from numba.cuda import x` asks for a module x, too, of the package as its module calls itself.
    """

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        """Of a package that the machine has in place of another one; else nothing."""
        package, _, leaf = name.rpartition(".")
        if package == cuda.__name__ or name.startswith(f"{NAME}."):
            _refuse(name, leaf)
        if name in OTHERS and _has(name):
            return ModuleSpec(name, _Loader(), is_package=True)
        return None


class _Loader:
    """Gives the machine's module for another package's name."""

    def create_module(self, spec: ModuleSpec) -> object:
        """The module itself, imported as it is called here."""
        return import_module(OTHERS[spec.name])

    def exec_module(self, module: object) -> None:
        """It is executed already."""


def _refuse(name: str, leaf: str) -> NoReturn:
    """MissingModule, in the words that the stand-in has for a name that it lacks."""
    if name.startswith(f"{NAME}."):
        raise MissingModule(
            f"The SIMT machine has no {name}: README.md of numba-simt says what it has."
        )
    try:
        getattr(cuda, leaf)
    except AttributeError as error:
        raise MissingModule(str(error)) from None
    raise MissingModule(f"cuda.{leaf} is no module.")


def _for_both(name: str, numbas: Callable) -> Callable:
    """Numba's vectorize or guvectorize; with target="cuda" the machine's."""

    @functools.wraps(numbas)
    def choose(*arguments: object, **options: object) -> object:
        if options.get("target") != "cuda":
            return numbas(*arguments, **options)
        import numba_simt

        ours = getattr(numba_simt, name, None) or getattr(cuda, name, None)
        if ours is None:
            raise Missing(f'The SIMT machine has no {name} with target="cuda".')
        options.pop("target")
        return ours(*arguments, **options)

    return choose
