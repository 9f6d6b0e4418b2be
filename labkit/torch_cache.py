"""Where PyTorch's compiler keeps what it compiles, and loads again: in a folder of the user's own.

    keep_compiled_by_torch()         # before anything of torch._inductor is imported
    torch.compile(function)

    name_folder()                    # at the start of a kernel, before it has PyTorch

By itself it takes a name in /tmp that others can guess, make first, and fill. As soon as it is
imported, it notes that name in the environment, as if the user had chosen it; and its precompiled
headers lie there whatever is chosen.
"""

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from labkit.files import CACHE, cache_folder
from numba_simt.owned_files import make_folder, refuse_others

ITS_OWN = "torchinductor_"  # how the name in /tmp begins
TORCH, TRITON = "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"


def keep_compiled_by_torch() -> None:
    """Has PyTorch's compiler use the folder that the user has chosen, or labkit's in the cache.

    Triton, which it has compile kernels of a GPU, gets a folder in it where none is chosen. Raises
    PermissionError as `refuse_others` does, also for a folder that is chosen.
    """
    folder = _kept(TORCH, _chosen(TORCH) or cache_folder() / "torchinductor")
    if chosen := _chosen(TRITON):
        _kept(TRITON, chosen)
    else:
        os.environ.pop(TRITON, None)
    with suppress(ImportError):  # a PyTorch that has another compiler
        _replace_default(folder)


def name_folder() -> None:
    """Has PyTorch begin with labkit's folder, where the user has chosen none.

    Its first optimizer makes the one in /tmp, and fails where somebody else has put a file there.
    Where labkit's cannot be made, or is open to others, all stays as it is: whoever compiles is
    told.
    """
    if _chosen(TORCH) is None:
        with suppress(OSError):
            folder = cache_folder() / "torchinductor"
            make_folder(folder, 0o700)
            refuse_others(folder := folder.resolve(), CACHE)
            os.environ[TORCH] = str(folder)


def _chosen(variable: str) -> Path | None:
    """A folder that the user has named, and not PyTorch."""
    if not (said := os.environ.get(variable)):
        return None
    path, temporary = Path(said).absolute(), Path(tempfile.gettempdir()).absolute()
    inside = path.relative_to(temporary).parts if path.is_relative_to(temporary) else ()
    return None if inside and inside[0].startswith(ITS_OWN) else path


def _kept(variable: str, folder: Path) -> Path:
    """Names a folder, which is made where there is none, in the environment; returns it."""
    try:
        make_folder(folder, 0o700)
    except OSError:  # a read-only home: for this process alone
        folder = Path(tempfile.mkdtemp())
    folder = folder.resolve()  # what is looked at is what is used, whatever becomes of a link
    refuse_others(folder, variable)
    os.environ[variable] = str(folder)
    return folder


def _replace_default(folder: Path) -> None:
    """Puts the folder in the place of PyTorch's default, also where that is noted already."""
    from torch._inductor import codecache  # noqa: F401 which loads the modules that note it
    from torch._inductor.runtime import cache_dir_utils

    usual = cache_dir_utils.default_cache_dir
    known = usual()
    modules = [one for name, one in sys.modules.items() if name.startswith("torch._inductor")]
    for module in modules:
        for name, value in list(vars(module).items()):
            if value is usual:
                setattr(module, name, lambda: str(folder))
            elif isinstance(value, str) and f"{value}/".startswith(f"{known}/"):
                setattr(module, name, str(folder / Path(value).relative_to(known)))
