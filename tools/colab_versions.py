"""Write tests/colab/{cpu,gpu,tpu}.txt: what Colab has preinstalled of what this course touches.

    python tools/colab_versions.py FOLDER "SOURCE, DATE"

FOLDER holds pip-freeze.txt, pip-freeze.gpu.txt and pip-freeze.tpu.txt as Colab's maintainers
publish them in the repository googlecolab/backend-info; SOURCE and DATE go into the headers.
From each freeze the packages are kept that the chapters' extras and a kernel need, with all that
those need in turn, as uv resolves it under the freeze's own versions. torch's CUDA packages are
left out: Colab has torch from PyTorch's own index, and builds from elsewhere pin their own.
"""

import re
import sys
import tempfile
import urllib.parse
from pathlib import Path

from lock import ROOT, TORCH_ONLY, requirements, uv_compile
from packaging.utils import canonicalize_name

IMAGES = {"cpu": "pip-freeze.txt", "gpu": "pip-freeze.gpu.txt", "tpu": "pip-freeze.tpu.txt"}
CHAPTERS = ("gpu", "tpu", "fpga", "distributed")
KERNEL = ("ipython", "ipykernel", "ipywidgets", "pip", "setuptools")
IF_THERE = ("numba-cuda",)  # no extra of a chapter asks for it, but its lessons use it


def versions(freeze: str) -> dict[str, str]:
    """Name -> version, also of the packages that were installed from a wheel's address."""
    found = {}
    for line in freeze.splitlines():
        if pinned := re.fullmatch(r"([\w.-]+)==(\S+)", line):
            found[canonicalize_name(pinned[1])] = pinned[2]
        elif wheel := re.fullmatch(r"([\w.-]+) @ \S+/[^-/]+-([^-/]+)-[^/]+\.whl(#.*)?", line):
            found[canonicalize_name(wheel[1])] = urllib.parse.unquote(wheel[2])
    return {name: v for name, v in found.items() if not name.startswith(TORCH_ONLY)}


def needed(preinstalled: dict[str, str]) -> list[str]:
    """The names of all packages that the extras and a kernel need, in Colab's Python."""
    with tempfile.TemporaryDirectory() as name:
        source, constraints = Path(name, "wanted.in"), Path(name, "constraints.txt")
        extras = f"labkit[{','.join(CHAPTERS)}] @ {ROOT.as_uri()}"
        simt = f"numba-simt @ {(ROOT / 'simt').as_uri()}"  # the index is not asked for it
        source.write_text("\n".join([simt, extras, *KERNEL, *IF_THERE]), "utf-8")
        public = {package: version.split("+")[0] for package, version in preinstalled.items()}
        constraints.write_text("".join(f"{n}=={v}\n" for n, v in public.items()))
        choice = [
            "--no-config",
            "--python-platform=x86_64-manylinux_2_35",
            f"--constraint={constraints}",
        ]
        return [r.name for r in requirements(uv_compile(source, *choice, python="3.13"))]


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    for image, file in IMAGES.items():
        preinstalled = versions(Path(sys.argv[1], file).read_text("utf-8"))
        names = sorted(set(needed(preinstalled)) & set(preinstalled))
        header = [
            f"# What we touch of what Colab's {image.upper()} image has preinstalled; Python 3.13.",
            f"# {sys.argv[2]}, {file}; written by tools/colab_versions.py",
        ]
        kept = [f"{name}=={preinstalled[name]}" for name in names]
        target = ROOT / "tests" / "colab" / f"{image}.txt"
        target.write_text("\n".join([*header, *kept, ""]), "utf-8")
        print(f"{target.relative_to(ROOT)}: {len(kept)} of {len(preinstalled)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
