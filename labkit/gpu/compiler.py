"""What NVIDIA's compiler makes of a kernel; no GPU is needed.

Numba types it, NVVM makes PTX, nvJitLink machine code. Instructions are counted in the PTX, as they
stand there, not as often as they run. Only this module, `labkit.gpu.driver` and `labkit.gpu.cuda`
import numba-cuda.
"""

import re
import tomllib
from collections import Counter, defaultdict, namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from importlib import import_module
from linecache import getline
from operator import attrgetter
from pathlib import Path
from textwrap import fill
from types import CellType, FunctionType, SimpleNamespace
from typing import Any
from unittest.mock import patch

from labkit.gpu import mma, vector
from labkit.provenance import Quantity, compiled

UNITS = {"registers": "registers"} | dict.fromkeys("spills local_bytes shared_bytes".split(), "B")
UNITS |= dict.fromkeys("fp64 fma vector_loads scalar_loads".split(), "instructions")


def compile_report(kernel: Any, signature: Any, arch: str = "sm_80", **options: Any) -> Any:
    """Compile `kernel` for `arch`: a CompileReport of what it needs and what its code costs.

    `kernel` is a function under @cuda.jit, of labkit.gpu or of Numba, or a plain one. `signature`
    is Numba's ("void(float32[:, ::1], int32)"), or a tuple of types or of example arguments.
    `options` are those of cuda.jit that change code: fastmath, launch_bounds, max_registers.
    Raises ImportError without the compiler, ValueError for what it does not know or refuses.
    """
    cuda, core, archs = _toolkit()
    if arch not in archs:
        raise ValueError(f"{arch!r} is no architecture this compiler knows: {', '.join(archs)}.")
    function, given = getattr(kernel, "py_func", kernel), getattr(kernel, "targetoptions", {})
    for name in {"fastmath", "launch_bounds", "max_registers"} & {*given}:
        options.setdefault(name, given[name])
    for name in {"launch_bounds", "max_registers"} & {*options}:
        numbers = options[name] if isinstance(options[name], tuple | list) else [options[name]]
        if options[name] is not None and any(type(n) is not int or n < 1 for n in numbers):
            raise ValueError(f"{name} is {options[name]!r}: it takes integers from 1 on.")
    device = SimpleNamespace(compute_capability=(int(arch[3:-1]), int(arch[-1])))
    options |= {"cc": device.compute_capability, "lineinfo": True}
    limit = options.pop("max_registers", None)
    try:
        with patch("numba.cuda.dispatcher.get_current_device", lambda: device):  # need not exist
            ptx, _ = cuda.compile_ptx(_native(function, cuda), _types(signature), **options)
        linking = core.LinkerOptions(arch=arch, verbose=True, max_register_count=limit)
        linker = core.Linker(core.ObjectCode.from_ptx(ptx.encode()), options=linking)
        linker.link("cubin")
    except Exception as error:  # of Numba, NVVM or nvJitLink
        noise = r"(?s)Failed in.*?\n|There are.*?(?=\nDuring|$)|File .*?(?=During: t)|During: P.*"
        said = " ".join(re.sub(noise, "", str(error)).split())
        raise ValueError(f"{getattr(function, '__name__', function)}: {said}") from error
    return _report(function, arch, ptx, linker.get_info_log())


def _toolkit() -> tuple[Any, Any, list[str]]:
    """numba.cuda, cuda.core with the linker, and the architectures they know."""
    try:
        import_module("numba_cuda")
        core, nvrtc = import_module("cuda.core"), import_module("cuda.bindings.nvrtc")
        archs = [f"sm_{number}" for number in nvrtc.nvrtcGetSupportedArchs()[1]]
        if not getattr(cuda := import_module("numba.cuda"), "compile_ptx", None):
            raise ImportError("NUMBA_ENABLE_CUDASIM puts a simulator in its place; unset it")
        vector.register(), mma.register()
    except (ImportError, RuntimeError) as error:
        missing = f"compile_report needs NVIDIA's compiler; part of it is missing here ({error})."
        install = "Install it: pip install 'numba-cuda[cu13]' (Linux or Windows; it needs no GPU)."
        raise ImportError(f"{missing} {install}") from error
    return cuda, core, archs


def _types(signature: Any) -> tuple:
    """Numba's types of the arguments."""
    from numba import typeof, types
    from numba.core.sigutils import normalize_signature

    if isinstance(signature, str) or hasattr(signature, "return_type"):
        return normalize_signature(signature)[0]
    given = signature if isinstance(signature, tuple | list) else (signature,)
    given = [getattr(one, "memory", one) for one in given]  # that of our own device arrays
    given = [one.numpy() if hasattr(one, "numpy") and not one.is_cuda else one for one in given]
    return tuple(one if isinstance(one, types.Type) else typeof(one) for one in given)


def _native(function: Callable, cuda: Any) -> Callable:
    """The function, with numba.cuda in all places where it names our stand-in."""
    from labkit.gpu.simt import api, dispatcher

    def translate(thing: Any) -> Any:
        if isinstance(thing, api.InKernel):
            return attrgetter(thing.path)(cuda)
        if isinstance(thing, dispatcher.DeviceFunction):
            options = {"lineinfo": True} | thing.targetoptions
            return cuda.jit(device=True, **options)(_native(thing.py_func, cuda))
        return cuda if thing is api else thing

    code, scope = function.__code__, dict(function.__globals__)
    scope |= {name: translate(scope[name]) for name in code.co_names if name in scope}
    cells = tuple(CellType(translate(cell.cell_contents)) for cell in function.__closure__ or ())
    return FunctionType(code, scope, function.__name__, function.__defaults__, cells)


Instruction = namedtuple("Instruction", "place block name operands text")  # place: file, line


def _instructions(ptx: str) -> list[Instruction]:
    files = dict(re.findall(r'\.file\s+(\d+) "(.*?)"', ptx))
    place, block, found = ("", 0), 0, []
    for text in map(str.strip, ptx.splitlines()):
        if text.startswith(".loc"):
            place = files.get(text.split()[1], ""), int(text.split()[2])
        elif match := re.match(r"(?:@\S+\s+)?([a-z][\w.:]*)\s*(.*);$", text):
            operands = re.findall(r"\{.*?\}|\[.*?\]|[^,\s]+", match[2])
            found.append(Instruction(place, block, match[1], operands, text))
        block += text.startswith("$") or "bra" in text
    return found


def _fours(code: list[Instruction], space: str) -> list[tuple[str, int]]:
    """Where a lane loads four neighbours of 4 bytes one by one, and the next lane none of them."""
    groups, found = defaultdict(dict), []
    steps = dict.fromkeys(["%tid.x", "%tid.y", "%tid.z", "%laneid"], 1)  # from lane to lane; where
    for i in code:  # that depends on an array's shape, 0
        a, b, c = ([steps.get(source, 0) for source in i.operands[1:]] + 3 * [0])[:3]
        n = int(i.operands[2]) if re.fullmatch(r"\d+", "".join(i.operands[2:3])) else 0
        grown = {"add": a + b, "or": a + b, "sub": a - b, "mov": a, "cvt": a, "cvta": a}
        grown |= {"shl": a << n % 64, "mul": a * n, "mad": a * n + c}
        if step := grown.get(i.name.split(".")[0]):
            steps[i.operands[0]] = step
        if re.fullmatch(rf"ld\.{space}(\.nc)?\.[fbus]32", i.name):
            base, _, offset = i.operands[1].strip("[]").partition("+")
            if steps.get(base, 0) % 16 == 0:
                groups[i.block, base][int(offset or 0)] = i.place
    for loads in groups.values():
        for start in sorted(loads):
            if all(start + 4 * k in loads for k in range(4)):
                found += [loads.pop(start + 4 * k) for k in range(4)][:1]
    return found


def _lint(costs: dict[str, list], home: str) -> list[str]:
    """What Numba hides: each cost of lint.toml with its lines, if known, and what to do."""
    said = []
    for name, text in tomllib.loads(Path(__file__).with_name("lint.toml").read_text()).items():
        lines = sorted({line for file, line in costs[name] if line and file == home})
        where = [f"line {n}" + f": `{getline(home, n).strip()}`" * (n in lines[:2]) for n in lines]
        cost = text["cost"] + f" ({', '.join(where)})" * bool(where)
        said += [f"{len(costs[name]):,} {cost}: {text['cure'].strip()}"] * bool(costs[name])
    return said


def _report(function: Callable, arch: str, ptx: str, log: str) -> "CompileReport":
    by = f"NVVM {''.join(re.findall('release .*, (V.*)', ptx))} and nvJitLink for {arch}"
    code, shared = _instructions(ptx), 0
    for align, size in re.findall(r"\.shared \.align (\d+) \.b8 \w+\[(\d+)\]", ptx):
        shared = -(-shared // int(align)) * int(align) + int(size)
    numbers = [
        re.findall(rf"(\d+) {what}", log) for what in ("registers", "bytes spill", "bytes st")
    ]
    registers, spills, stack = max(map(int, numbers[0])), sum(map(int, numbers[1])), numbers[2]
    found = [re.match(r"(ld|st)\b.*?\.(global|shared|local)\b(.*?(\.v\d))?", i.name) for i in code]
    accesses = Counter(f"{m[1]}.{m[2]}{m[4] or ''}" for m in found if m)
    loads = [name for name in accesses.elements() if name.startswith("ld")]
    vector = sum(".v" in name for name in loads)
    doubles = [i.place for i in code if re.match(r"(?!ld|st|mov).*\.f64", i.name)]
    signs = [i.place for i in code if i.name == "shr.s64" and i.operands[2] == "63"]
    costs = {"float64": doubles, "int64": signs, "spills": [("", 0)] * spills}
    costs["local"] = [i.place for i in code if ".local" in i.name]
    costs |= {f"{space}_fours": _fours(code, space) for space in ("global", "shared")}
    lint = _lint(costs, function.__code__.co_filename)
    need = registers, spills, max(map(int, stack)), shared
    counts = len(doubles), sum(i.name.startswith("fma.") for i in code), vector, len(loads) - vector
    return CompileReport(
        function, arch, by, *need, *counts, dict(sorted(accesses.items())), lint, ptx
    )


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

    def _table(self) -> tuple[str, dict[str, str], list[str]]:
        """Title, rows and sentences."""
        rows = {name.replace("_", " "): f"{getattr(self, name):,} {UNITS[name]}" for name in UNITS}
        rows |= {name: f"{n:,} instructions" for name, n in self.accesses.items()}
        title = f"{self.function.__name__}: compiled by {self.by}"
        return title, rows, self.lint or ["No cost found that Numba hides."]

    def __repr__(self) -> str:
        title, rows, said = self._table()
        table = [f"  {name:<14}{number}" for name, number in rows.items()]
        return "\n".join([title, *table, "", *(fill(s, 100, subsequent_indent="  ") for s in said)])

    def _repr_html_(self) -> str:
        title, rows, said = self._table()
        cells = [f"<td>{name}</td><td><b>{n}</b></td>" for name, n in rows.items()]
        cells = "</tr><tr>".join("".join(cells[i : i + 4]) for i in range(0, len(cells), 4))
        head = f'<div>{escape(title)}</div><table style="color: inherit; margin: 0.4em 0">'
        said = "".join(f"<div>{escape(sentence)}</div>" for sentence in said)
        return f"{head}<tr>{cells}</tr></table>{said}"
