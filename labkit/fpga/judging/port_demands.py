"""The ports that an exercise asks for: all of them, as wide, with or without a sign."""

from labkit.checks.items import Refused
from labkit.fpga.ports import Port, Ports


def demand_ports(theirs: Ports, ours: Ports) -> None:
    """Refused where a module does not have the ports, widths and signs of the course's."""
    for port in ours.all:
        if port.name not in theirs:
            raise Refused(f"The module {ours.top} has no port `{port.name}`.")
        if theirs[port.name] != port:
            raise Refused(unlike(port, theirs[port.name]))
    for port in theirs.all:
        if port.is_input and port.name not in ours:
            raise Refused(
                f"The module {ours.top} has an input `{port.name}` that the exercise does not "
                "have, so nothing would drive it. Leave it out."
            )


def unlike(ours: Port, theirs: Port) -> str:
    """The sentence for a port that is not as the exercise has it."""
    said = f"The port `{ours.name}` should be {described(ours)}, and it is {described(theirs)}."
    if theirs.signed == ours.signed:
        return said
    if ours.signed:
        return f"{said} Declare it `logic signed`."
    joined = f"number = {ours.name}" if ours.is_input else f"{ours.name} = number"
    return (
        f"{said} Declare it without `signed`. Where its value has a sign, give it one inside: "
        f"`logic signed [{ours.width - 1}:0] number; assign {joined};`."
    )


def described(port: Port) -> str:
    """ "an input of 8 bits, signed"."""
    kind = "an input" if port.is_input else "an output"
    bits = "1 bit" if port.width == 1 else f"{port.width} bits"
    return f"{kind} of {bits}" + (", signed" if port.signed else "")
