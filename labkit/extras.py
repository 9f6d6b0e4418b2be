"""What a chapter's lessons need beside labkit: the extra of its name, and what of it is missing.

Only metadata of packages is read: nothing is imported.
"""

from collections.abc import Iterable
from importlib import metadata

EXTRAS = ("gpu", "tpu", "fpga", "distributed")


def version(package: str) -> str | None:
    """The installed version of a package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def missing(extra: str, requirements: Iterable[str] | None = None) -> list[str]:
    """What of an extra's requirements is absent or does not fit, as ["torch>=2.6"].

    requirements    of this extra, as pyproject.toml has them; None: those of the installed labkit
    """
    from packaging.requirements import Requirement

    if requirements is None:
        requirements = [one for one in metadata.requires("labkit") or [] if "extra ==" in one]
    absent = []
    for wanted in map(Requirement, requirements):
        if wanted.marker and not wanted.marker.evaluate({"extra": extra}):
            continue  # for another extra, or on another platform
        found = version(wanted.name)
        if not found or not wanted.specifier.contains(found, prereleases=True):
            wanted.marker = None
            absent.append(str(wanted))
    return absent


def what_to_run(extra: str) -> str:
    """A sentence for a chapter whose packages are not all here; "" where they are.

    Raises ValueError for an extra that is no chapter's.
    """
    if extra not in EXTRAS:
        raise ValueError(f"A chapter's extra is one of {', '.join(EXTRAS)}, not {extra!r}.")
    if not (absent := missing(extra)):
        return ""
    return (
        f"This chapter needs packages that are not here ({', '.join(absent)}). Run "
        f"`make lab CHAPTER={extra}` in the course's folder, or `make lab` for all chapters, and "
        "restart the kernel; without the folder, install the wheels of numba-simt and "
        f"labkit[{extra}]."
    )
