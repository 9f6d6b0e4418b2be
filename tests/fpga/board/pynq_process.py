"""pynq in a process of its own: its devices and clocks are global, and outlive a board."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[3]
LIMIT = 300  # seconds; only ends a hang
BEGINNING = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
from labkit.fpga.board import BoardError, Design, VirtualBoard
from labkit.fpga.board import designs

def told(call):
    try:
        call()
    except Exception as error:
        return str(error)
    return "nothing"

def dma_of(board):
    from pynq import Overlay
    return Overlay(board.bitstream).axi_dma_0
"""


def run_python(code: str, limit: int = LIMIT) -> str:
    """What a script prints that begins with BEGINNING; fails when it fails, or does not end."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONFAULTHANDLER": "1"}
    environment.pop("PYNQ_REMOTE_DEVICES", None)
    done = subprocess.run(
        [sys.executable, "-c", BEGINNING + dedent(code)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=limit,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
