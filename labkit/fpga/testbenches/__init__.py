"""Testbenches in cocotb: Python coroutines that drive a module's pins, edge by edge."""
