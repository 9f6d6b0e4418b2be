"""Runs the kernel tests of the installed numba-cuda on the SIMT machine (tools/numba_tests.py)."""
