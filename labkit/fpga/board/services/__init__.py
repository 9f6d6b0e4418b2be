"""PYNQ.remote's four services, and the gRPC server that offers them.

What they reach is machine.py of labkit.fpga.board.hardware.
"""
