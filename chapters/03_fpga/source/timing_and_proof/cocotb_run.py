"""`run_cocotb(source, top, testbench)`: a testbench in cocotb, on a design compiled by Verilator.

cocotb's own way is a makefile that asks for perl and make; this one compiles as `simulate` does.
"""

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from labkit.fpga import arguments
from labkit.fpga.errors import RTLError
from labkit.fpga.sources import Source, Sources, read_sources
from labkit.fpga.toolchain.cpp import compile_cpp, kept
from labkit.fpga.toolchain.lint import lint
from labkit.fpga.toolchain.tools import installed_version, last_line, run_tool
from labkit.fpga.toolchain.verilated import (
    RUNTIME,
    include_options,
    run_verilator,
    runtime,
    version,
)

WRITE = ["--cc", "--exe", "--vpi", "--public-flat-rw", "--prefix", "Vtop", "--Mdir", "made"]
WRITE += ["--no-timing", "-Wno-fatal", "--timescale", "1ns/1ps"]
SEEN = ["-fvisibility=default"]  # by cocotb's library, which calls the program's functions
KEEPS_WORDS = Path(__file__).with_name("keeps_words.py")  # of streams in and out
WAITS = "Usually the testbench waits for something that never comes."
# In a process of its own: cocotb's runner ends the process when a test fails.
_RUN = """\
import sys
top, folder, testbench = sys.argv[1:]
sys.path.insert(0, testbench.rpartition("/")[0])
from cocotb_tools.runner import get_runner
get_runner("verilator").test(
    testbench.rpartition("/")[2].removesuffix(".py"), top, hdl_toplevel_lang="verilog",
    build_dir=folder, test_dir=folder, results_xml="results.xml", seed=1,
)
"""


@dataclass(frozen=True)
class CocotbRun:
    """What a testbench said: how many tests there were, how many failed, and the whole log."""

    tests: int
    failed: int
    log: str


def run_cocotb(
    source: Source, top: str, testbench: Path, parameters: dict[str, int] | None = None
) -> CocotbRun:
    """Run the tests of the Python file `testbench` on the module `top`.

    Raises RTLError for sources that do not lint, for a missing tool, and for a testbench that does
    not get as far as its tests, with its last words.
    """
    testbench = Path(arguments.path("testbench", testbench))
    if not testbench.is_file():
        raise RTLError(
            f"There is no testbench {testbench}: it should be the path of a Python file."
        )
    parameters = arguments.parameters(parameters)
    cocotb = installed_version("cocotb", "cocotb")
    sources = read_sources(source, top)
    key = [cocotb, version(), sources.digest, repr(sorted(parameters.items())), *WRITE]
    program = kept(f"{top}.cocotb", key, lambda path: _build(sources, parameters, path))
    with TemporaryDirectory() as folder:
        shutil.copy(program, Path(folder, top))
        command = [sys.executable, "-P", "-c", _RUN, top, folder, str(testbench.resolve())]
        environment = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
        done = run_tool("cocotb", f"with {testbench}", WAITS, command, Path(folder), environment)
        return _counts(top, Path(folder, "results.xml"), done.stdout + done.stderr)


def _counts(top: str, results: Path, log: str) -> CocotbRun:
    if not results.exists():
        raise RTLError(
            f"The testbench of {top} did not get as far as its tests. It said: {last_line(log)}"
        )
    xml = results.read_text("utf-8")
    return CocotbRun(len(re.findall(r"<testcase\b", xml)), len(re.findall(r"<failure\b", xml)), log)


def _build(sources: Sources, parameters: dict[str, int], program: Path) -> None:
    """Compile the design with cocotb's main program."""
    import cocotb_tools.config as cocotb

    lint(sources, parameters)
    with sources.laid_out() as folder:
        done = run_verilator(WRITE, sources, parameters, folder)
        if done.returncode:
            raise RTLError(f"Verilator refuses the module {sources.top}: {done.stderr.strip()}")
        made = folder / "made"
        main = cocotb.share_dir / "lib" / "verilator" / "verilator.cpp"
        parts = [*sorted(made.glob("*.cpp")), main]
        (made / "all.cpp").write_text("".join(f'#include "{part}"\n' for part in parts))
        objects = runtime([*RUNTIME, "verilated_vpi.cpp"], SEEN)
        libraries = [f"-L{cocotb.libs_dir}", f"-Wl,-rpath,{cocotb.libs_dir}"]
        libraries += ["-lcocotbvpi_verilator", "-lpthread"]
        options = ["-O1", *SEEN, "-rdynamic", *include_options(), f"-I{made}"]
        compile_cpp([*options, "-o", program, "all.cpp", *objects, *libraries], made)
