"""jax_devices: virtual devices where there is no TPU, and sentences where there are too few."""

import subprocess
import sys

import pytest

from labkit.tpu.jax_training import jax_devices


def in_a_process(code):
    """What a fresh Python prints: JAX takes its devices at its first start."""
    words = [sys.executable, "-P", "-c", code]
    return subprocess.run(words, capture_output=True, text=True, timeout=600, check=True).stdout


def test_eight_virtual_devices_unless_jax_has_started_with_fewer():
    said = in_a_process(
        "from labkit.tpu.jax_training import jax_devices\n"
        "print(len(jax_devices(8)), len(jax_devices(3)))\n"
        "try:\n    jax_devices(20)\nexcept RuntimeError as error:\n    print(error)\n"
    )
    first, second, *counts, error = said.splitlines()
    assert first == "Runs on: 8 virtual JAX device(s) on this CPU, NOT on a TPU."
    assert second == "Runs on: 3 virtual JAX device(s) on this CPU, NOT on a TPU."
    assert counts == ["8 3"]
    assert "with 8 device(s)" in error and "Restart the kernel" in error


def test_a_senseless_number_is_refused():
    with pytest.raises(ValueError, match="jax_devices"):
        jax_devices(0)
