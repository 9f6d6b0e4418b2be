"""What all the tools share: each is a Python package with a version, and says why it stops."""

from importlib.metadata import PackageNotFoundError, version

from labkit.fpga.errors import RTLError


def installed_version(package: str, tool: str) -> str:
    """The version of a tool's package, a part of the key of all that is kept of its answers.

    Raises RTLError with what to install when it is missing.
    """
    try:
        return version(package)
    except PackageNotFoundError as error:
        raise RTLError(
            f"{tool} is not installed. `pip install {package}` brings it, and so does `make lab`."
        ) from error


def without_patch(version: str) -> str:
    """A version's first two numbers, as tables name a tool: "0.70" of "0.70.0.0.post1118"."""
    return ".".join(version.split(".")[:2])


def last_line(output: str) -> str:
    """The last words of a tool, for a failure that has no better reason."""
    lines = output.strip().splitlines()
    return lines[-1] if lines else "no reason given"
