"""The accelerator's registers on a board, by name: the driver that pynq binds to the accelerator.

    driver = driver_type()             # before or after the overlay is loaded
    driver(overlay.ip_dict["accelerator_0"]).status()

The same for a real board and the virtual one: nothing but `read` and `write` of 32-bit registers.
"""

from functools import cache

from labkit.fpga.board.errors import BoardError
from labkit.fpga.convnet.accelerator import REGISTERS, RESET, START, STATUS
from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes
from labkit.provenance import Quantity, counted

KIND = "labkit:rtl:accelerator"  # vendor, library and name of the IP
VLNV = f"{KIND}:1.0"
FAULTS = {
    "START_WHILE_BUSY": "it was started a second time before the job was over",
    "NO_IMAGES": "it was started for a job without images",
    "OTHER_NETWORK": "the stream is for an accelerator of another folding or other shapes",
    "TOO_SHORT": "the stream ended before the last image",
    "TOO_LONG": "the stream went on behind the last image",
}


class AcceleratorRegisters:
    """What has `read(offset)` and `write(offset, value)`, such as a driver of pynq, gets names."""

    def status(self) -> frozenset[str]:
        """The bits of STATUS that are set."""
        value = self.read(REGISTERS["STATUS"])
        return frozenset(name for place, name in enumerate(STATUS) if value >> place & 1)

    def start(self, images: int) -> None:
        """Starts a job of so many images; raises BoardError while one is under way."""
        if "BUSY" in self.status():
            raise BoardError(
                "The accelerator is busy with a job that somebody else has started. Wait for it, "
                "or end it with reset()."
            )
        self.write(REGISTERS["IMAGES"], images)
        self.write(REGISTERS["CONTROL"], START)

    def reset(self) -> None:
        """Ends any job at once."""
        self.write(REGISTERS["CONTROL"], RESET)

    def refuse_faults(self) -> None:
        """Raises BoardError for a job that did not end as it should."""
        status = self.status()
        wrong = [sentence for name, sentence in FAULTS.items() if name in status]
        if wrong:
            raise BoardError(f"The accelerator refuses the job: {'; '.join(wrong)}.")
        if "DONE" not in status:
            raise BoardError("The accelerator has not ended the job, though all results are here.")

    @property
    def cycles(self) -> Quantity:
        """Clock cycles of the latest job."""
        return counted(self.read(REGISTERS["CYCLES"]), "cycles", "the register of the accelerator")

    @property
    def folding(self) -> Folding:
        """The knobs that it was built with."""
        return Folding.of_register(self.read(REGISTERS["FOLDING"]))

    @property
    def shapes(self) -> Shapes:
        """The shapes of the network that it was built for."""
        return Shapes.of_register(self.read(REGISTERS["SHAPES"]))


@cache
def driver_type() -> type:
    """The class for `overlay.accelerator_0`; from now on each new `Overlay` of pynq takes it."""
    from pynq import DefaultIP

    return type(
        "AcceleratorDriver",
        (AcceleratorRegisters, DefaultIP),
        {"__doc__": AcceleratorRegisters.__doc__, "bindto": [VLNV]},
    )
