"""A wheel of numba-simt with the machine compiled, for computers without a C compiler.

`python tools/prebuild.py FOLDER` compiles c/machine.c for this kind of computer into a copy of the
package, and builds the wheel from that. It is for this system and processor, and any Python; where
it is installed, the library is loaded whose digest is that of the C sources beside it.
"""

import argparse
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from numba_simt.execution import native, tables  # noqa: E402


def build(folder: Path, isolated: bool = True) -> None:
    """Writes the wheel; `isolated`: with setuptools from the index, else with what is installed."""
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    with tempfile.TemporaryDirectory() as work:
        copy = Path(work) / "simt"
        unwanted = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "tests", "tools")
        shutil.copytree(ROOT, copy, ignore=unwanted)
        source = copy / "numba_simt" / "execution" / "c" / "machine.c"
        native.compile_for_wheel(source, tables.c_header())
        command = [sys.executable, "-P", "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder]
        command += [f"--config-settings=--build-option=--plat-name={platform}", copy]
        command += [] if isolated else ["--no-build-isolation", "--no-index"]
        subprocess.run(command, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the wheel is written")
    here = "build with the setuptools that is installed, without asking an index"
    parser.add_argument("--no-isolation", action="store_true", help=here)
    given = parser.parse_args()
    build(given.folder, not given.no_isolation)


if __name__ == "__main__":
    main()
