"""A machine that allows no network namespaces, such as Docker without SYS_ADMIN, played."""

import os
import sys
from pathlib import Path

import pytest

from labkit.distributed.tensorflow import orders

ROOT = Path(__file__).resolve().parents[1]
FORBIDDEN = """\
import labkit.distributed.connections.closed_network as closed_network

def refuses():
    raise PermissionError(1, "Operation not permitted")

closed_network._unshare = refuses
"""


def forbid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every new process of Python, a file in `folder` that it runs first forbids them."""
    (folder / "sitecustomize.py").write_text(FORBIDDEN)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(ROOT)]))
    monkeypatch.setattr(orders, "ROOT", folder)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
