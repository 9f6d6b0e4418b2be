"""A generated module around a module: the sources of both, and the text of the instance inside."""

from dataclasses import replace

from labkit.fpga.errors import RTLError
from labkit.fpga.ports import Ports
from labkit.fpga.sources import Sources


def instance(ports: Ports, parameters: dict[str, int] | None, wires: dict[str, str]) -> str:
    """The line that puts the module of `ports` inside another, under the name `inner`.

    wires   for each port what it is connected to; a port that is missing there meets its own name
    """
    chosen = ", ".join(f".{name}({value})" for name, value in sorted((parameters or {}).items()))
    met = ", ".join(f".{port.name}({wires.get(port.name, port.name)})" for port in ports.all)
    return f"    {ports.top} #({chosen}) inner ({met});"


def wrapped(sources: Sources, top: str, text: str) -> Sources:
    """The sources with the generated module `top` above them.

    Raises RTLError if the learner's sources have a file of that name.
    """
    name = f"{top}.sv"
    if name in sources.names:
        raise RTLError(f"{name} is a name that the course needs: call your file differently.")
    return replace(
        sources,
        files=(*sources.files, (name, text)),
        top=top,
    )
