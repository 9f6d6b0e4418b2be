"""Each header of the machine includes what it uses, so that it compiles alone."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from numba_simt.execution import machine
from numba_simt.execution.tables import c_header

HEADERS = sorted((Path(machine.__file__).parent / "c").glob("*.h"))
OPTIONS = ["-std=gnu11", "-fsyntax-only", "-Werror=implicit-function-declaration"]


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_a_header_compiles_alone(header, tmp_path):
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    tables = tmp_path / "tables.h"
    tables.write_text(c_header(), "utf-8")
    command = [compiler, *OPTIONS, "-include", tables, "-x", "c", header]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
