"""NVIDIA's linker, which makes machine code of PTX: nvJitLink, by its binding `cuda.bindings`.

It needs neither a GPU nor a driver. `cuda.core` has a linker, too, but under another name from
version to version, and its older ones ask the driver first.
"""

from importlib import import_module


def linked(ptx: str, arch: str, max_registers: int | None = None) -> str:
    """What nvJitLink logs of a PTX text that it links for `arch`: registers, spills, shared memory.

    Raises ImportError without the linker, ValueError with its own words for what it refuses.
    """
    nvjitlink = import_module("cuda.bindings.nvjitlink")
    options = [f"-arch={arch}", "-verbose"]
    if max_registers is not None:
        options.append(f"-maxrregcount={max_registers}")
    handle = nvjitlink.create(len(options), options)
    try:
        data = ptx.encode()
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, data, len(data), "kernel")
        nvjitlink.complete(handle)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
    except nvjitlink.nvJitLinkError as error:
        said = bytearray(nvjitlink.get_error_log_size(handle))
        nvjitlink.get_error_log(handle, said)
        raise ValueError(f"{error} {_text(said)}") from error
    finally:
        nvjitlink.destroy(handle)
    return _text(log)


def is_here() -> bool:
    """Whether nvJitLink is installed, the library as well as its binding."""
    try:
        import_module("cuda.bindings.nvjitlink").version()
    except (ImportError, RuntimeError):  # the second where the library is missing
        return False
    return True


def _text(log: bytearray) -> str:
    return log.decode().rstrip("\0")
