"""The FPGA room: from int8 arithmetic to gates, and a board that the `pynq` package drives."""
