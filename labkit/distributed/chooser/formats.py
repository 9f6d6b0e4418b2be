"""Bytes of a number in each format of the table of machines."""

from labkit import hardware

BYTES = {
    "fp64": 8,
    "fp32": 4,
    "tf32": 4,  # kept as fp32; only the products are rounded
    "fp16": 2,
    "bf16": 2,
    "fp8": 1,
    "int8": 1,
    "fp4": 0.5,
    "int4": 0.5,
}
FLOATS = ("fp32", "tf32", "fp16", "bf16")  # formats to train in


def bytes_of(number_format: str) -> float:
    """Bytes of one number. ValueError names the formats that there are, if not this one."""
    if number_format not in BYTES:
        there = ", ".join(hardware.FORMATS)
        raise ValueError(f"There is no number format {number_format!r}. There are: {there}.")
    return BYTES[number_format]


def training_format(number_format: str, allowed: tuple[str, ...] = FLOATS) -> float:
    """The same, for a format that this training can have."""
    size = bytes_of(number_format)
    if number_format not in allowed:
        there = ", ".join(allowed)
        raise ValueError(f"The chooser trains this model in {there}, not in {number_format}.")
    return size
