"""What numba-cuda compiles for each function and dtype, and what it computes."""
