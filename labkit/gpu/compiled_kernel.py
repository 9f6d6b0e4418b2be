"""What the compiler made of a kernel: the `CompileReport`, and what Numba hides of its costs."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from linecache import getline
from pathlib import Path
from textwrap import fill

from labkit.gpu import ptx as assembly
from labkit.gpu.ptx import Place
from labkit.provenance import Quantity, compiled

UNITS = {
    "registers": "registers",
    "spills": "B",
    "local_bytes": "B",
    "shared_bytes": "B",
    "fp64": "instructions",
    "fma": "instructions",
    "vector_loads": "instructions",
    "scalar_loads": "instructions",
}


@dataclass(frozen=True, repr=False)
class CompileReport:
    """What the compiler made of a kernel. Every number is compiled, none is measured."""

    function: Callable
    arch: str
    by: str  # the compilers and the architecture
    registers: int  # of a thread
    spills: int  # bytes stored and loaded
    local_bytes: int  # of a thread, spilled registers included
    shared_bytes: int  # of a block, without what a launch adds
    fp64: int  # instructions of PTX, also below
    fma: int
    vector_loads: int
    scalar_loads: int
    accesses: Mapping[str, int]  # "ld.shared.v4": how many
    lint: list[str]
    ptx: str

    def quantity(self, name: str) -> Quantity:
        """The number `name` with its unit and provenance; ValueError if there is none."""
        if name not in UNITS:
            raise ValueError(f"There is no number {name!r}, but {', '.join(UNITS)}.")
        return compiled(getattr(self, name), UNITS[name], self.by)

    def _rows(self) -> dict[str, str]:
        """The table: a name, and a number with its unit."""
        rows = {name.replace("_", " "): f"{getattr(self, name):,} {UNITS[name]}" for name in UNITS}
        return rows | {name: f"{n:,} instructions" for name, n in self.accesses.items()}

    def _title(self) -> str:
        return f"{self.function.__name__}: compiled by {self.by}"

    def _sentences(self) -> list[str]:
        return self.lint or ["No cost found that Numba hides."]

    def __repr__(self) -> str:
        lines = [self._title()]
        lines += [f"  {name:<14}{number}" for name, number in self._rows().items()]
        lines += [""]
        lines += [fill(said, 100, subsequent_indent="  ") for said in self._sentences()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cells = [f"<td>{name}</td><td><b>{n}</b></td>" for name, n in self._rows().items()]
        lines = ["".join(cells[i : i + 4]) for i in range(0, len(cells), 4)]
        rows = "</tr><tr>".join(lines)
        head = f'<div>{escape(self._title())}</div><table style="color: inherit; margin: 0.4em 0">'
        said = "".join(f"<div>{escape(sentence)}</div>" for sentence in self._sentences())
        return f"{head}<tr>{rows}</tr></table>{said}"


def report(function: Callable, arch: str, ptx: str, log: str) -> CompileReport:
    """Reads the PTX, and the linker's log, of a kernel that was compiled for `arch`."""
    nvvm = "".join(re.findall("release .*, (V.*)", ptx))
    code = assembly.instructions(ptx)
    accesses = assembly.accesses(code)
    loads = sum(n for name, n in accesses.items() if name.startswith("ld"))
    vector_loads = sum(n for name, n in accesses.items() if re.match(r"ld.*\.v", name))
    doubles = assembly.doubles(code)
    spills = sum(_numbers(log, "bytes spill"))  # stores and loads
    costs = {
        "float64": doubles,
        "int64": assembly.wrapped_indices(code),
        "spills": [("", 0)] * spills,
        "local": assembly.local_accesses(code),
        "global_fours": assembly.fours(code, "global"),
        "shared_fours": assembly.fours(code, "shared"),
    }
    return CompileReport(
        function=function,
        arch=arch,
        by=f"NVVM {nvvm} and nvJitLink for {arch}",
        registers=max(_numbers(log, "registers")),
        spills=spills,
        local_bytes=max(_numbers(log, "bytes st")),  # "stack frame"
        shared_bytes=assembly.shared_bytes(ptx),
        fp64=len(doubles),
        fma=sum(instruction.name.startswith("fma.") for instruction in code),
        vector_loads=vector_loads,
        scalar_loads=loads - vector_loads,
        accesses=dict(sorted(accesses.items())),
        lint=_lint(costs, function.__code__.co_filename),
        ptx=ptx,
    )


def _numbers(log: str, what: str) -> list[int]:
    """The numbers that stand before these words in the linker's log, one for each function."""
    return [int(number) for number in re.findall(rf"(\d+) {what}", log)]


def _lint(costs: dict[str, list[Place]], home: str) -> list[str]:
    """A sentence for each cost of lint.toml that was found, with its lines in the file `home`."""
    texts = tomllib.loads(Path(__file__).with_name("lint.toml").read_text())
    said = []
    for name, text in texts.items():
        if not costs[name]:
            continue
        lines = sorted({line for file, line in costs[name] if line and file == home})
        where = [f"line {n}" for n in lines]
        for i, line in enumerate(lines[:2]):
            where[i] += f": `{getline(home, line).strip()}`"
        places = f" ({', '.join(where)})" if where else ""
        count = f"{len(costs[name]):,}"
        said.append(f"{count} {text['cost']}{places}: {text['cure'].strip()}")
    return said
