"""The accelerator's parameters: its knobs, and the shapes of the network that it is built for.

    Folding(conv2=2).parameters, Shapes(side=8, conv1=8, conv2=8, fc1=16).weights

Lesson folding_under_a_budget.
"""

from dataclasses import dataclass

FC1_STEP = 8  # a beat of the stream has 8 weights of fc1


@dataclass(frozen=True)
class Folding:
    """The accelerator's knobs: how many outputs of a layer are made at a time.

    conv1     27 multipliers for each; a divisor of conv1's channels
    conv2     72 multipliers for each; a divisor of conv2's channels, and a power of two
    fc1       1 multiplier for each; a multiple of 8 that divides fc1's outputs
    resident  whether the weights of fc1 and fc2 stay on the chip for all images of a job
    """

    conv1: int = 1
    conv2: int = 1
    fc1: int = 8
    resident: bool = False

    @property
    def parameters(self) -> dict[str, int]:
        """As the parameters of `rtl/accelerator.sv`."""
        return {
            "CONV1_LANES": self.conv1,
            "CONV2_LANES": self.conv2,
            "FC1_LANES": self.fc1,
            "RESIDENT": int(self.resident),
        }

    @property
    def register(self) -> int:
        """As the register FOLDING shows it."""
        return self.conv1 | self.conv2 << 8 | self.fc1 << 16 | int(self.resident) << 24

    @classmethod
    def of_register(cls, value: int) -> "Folding":
        """The knobs that the register FOLDING shows."""
        return cls(value & 0xFF, value >> 8 & 0xFF, value >> 16 & 0xFF, bool(value >> 24 & 1))


@dataclass(frozen=True)
class Shapes:
    """What of a network's shapes the accelerator has as parameters; the course's as defaults.

    side    rows and columns of an image
    conv1   its output channels, a multiple of 8
    conv2   its output channels
    fc1     its outputs, a multiple of 8; fc2 has 10
    """

    side: int = 32
    conv1: int = 32
    conv2: int = 64
    fc1: int = 128

    @property
    def parameters(self) -> dict[str, int]:
        """As the parameters of `rtl/accelerator.sv`."""
        return {
            "HEIGHT": self.side,
            "WIDTH": self.side,
            "CONV1_CHANNELS": self.conv1,
            "CONV2_CHANNELS": self.conv2,
            "FC1_OUTPUTS": self.fc1,
        }

    @property
    def register(self) -> int:
        """As the register SHAPES shows it."""
        low = [self.side, self.conv1, self.conv2, self.fc1]
        return sum((value & 0xFF) << 8 * place for place, value in enumerate(low))

    @classmethod
    def of_register(cls, value: int) -> "Shapes":
        """The shapes that the register SHAPES shows: of each the lowest 8 bits."""
        return cls(*(value >> 8 * place & 0xFF for place in range(4)))

    @property
    def weights(self) -> dict[str, tuple[int, ...]]:
        """The shape of each layer's weights."""
        pixels = (self.side // 4) ** 2
        return {
            "conv1": (self.conv1, 3, 3, 3),
            "conv2": (self.conv2, self.conv1, 3, 3),
            "fc1": (self.fc1, self.conv2 * pixels),
            "fc2": (10, self.fc1),
        }


def refuse_lanes(folding: Folding, shapes: Shapes) -> None:
    """Raises ValueError for a folding that does not divide the layers, with the one that does not.

    `rtl/accelerator.sv` refuses it too.
    """
    rows = [
        ("conv1", folding.conv1, shapes.conv1, 1),
        ("conv2", folding.conv2, shapes.conv2, 1),
        ("fc1", folding.fc1, shapes.fc1, FC1_STEP),
    ]
    for name, lanes, outputs, step in rows:
        whole = isinstance(lanes, int) and lanes > 0
        if not whole or outputs % lanes or lanes % step:
            of = f", in multiples of {step}" if step > 1 else ""
            raise ValueError(
                f"The folding makes {lanes} outputs of {name} at a time; it has to be a divisor of "
                f"its {outputs} outputs{of}."
            )
    if folding.conv2 & (folding.conv2 - 1):
        raise ValueError(
            f"The folding makes {folding.conv2} outputs of conv2 at a time; it has to be a power "
            "of two, as the length of the queue behind it is."
        )
