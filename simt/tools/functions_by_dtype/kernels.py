"""The kernels that ask the SIMT machine: what the child process of `machine.py` does."""

import inspect
import itertools
import linecache
import pickle
import re
from pathlib import Path

import numba
import numpy as np

from functions_by_dtype import inputs
from functions_by_dtype.cases import SCALARS, SCOPE, Case, names
from functions_by_dtype.machine import Answer, few_rows, wide
from numba_simt import cuda as api
from numba_simt.errors import KernelError

TYPE = re.compile(r"\b(?:bool|u?int\d+|float\d+|complex\d+)\b")
CULPRIT = re.compile(r"# (\d+)`")  # ends the lines of a case, and so a sentence's quotation
_numbers = itertools.count()

Batch = list[tuple[Case, str]]  # cases that share their inputs, with the types of their results


def work(given: str, made: str, first: str) -> None:
    """Does the jobs of the file `given` from number `first` on; the answers go to `made`."""
    np.seterr(all="ignore")
    handlers = {"ask": verdict, "compute": results}
    with open(made, "ab") as answers:
        for kind, *arguments in pickle.loads(Path(given).read_bytes())[int(first) :]:
            pickle.dump(handlers[kind](*arguments), answers)
            answers.flush()


def verdict(case: Case) -> Answer:
    """Asks the front end alone. Its sentence for `v[0]` names the type of v, if it is no tuple."""
    found = _refused(case)
    if found.kind != "accepted":
        return found
    found = _refused(case, "u = v[0]")
    if found.kind != "accepted" or found.text:
        return found
    parts = [_refused(case, f"t = v[{i}]", "u = t[0]").text for i in (0, 1)]
    return Answer("accepted", f"({', '.join(parts)})")


def _refused(case: Case, *lines: str) -> Answer:
    """The front end's answer to v and the lines behind it, of which the last is wrong."""
    kinds = [getattr(numba.types, SCALARS[code.removesuffix("[]")]) for code in case.dtypes]
    *before, last = case.text.split("; ")
    loads = [f"{name} = {_array(name)}[i]" for name in names(case.text) if name != "A"]
    body = ["i = cuda.grid(1)", *loads, *before, f"v = {last}", *lines]
    try:
        kernel = _kernel(list(map(_array, names(case.text))), body)
        kernel.compile(tuple(numba.types.Array(kind, 1, "C") for kind in kinds))
    except KernelError as error:
        if lines and f"`{lines[-1]}`" in str(error):
            return Answer("accepted", TYPE.search(str(error).partition(lines[-1])[2])[0])
        return Answer("refused", str(error))
    except Exception as error:
        return Answer("unclear", f"{type(error).__name__}: {error}")
    return Answer("accepted", "")


def _array(name: str) -> str:
    """The kernel's parameter that holds a name's inputs."""
    return "A" if name == "A" else name.upper()


def _kernel(parameters: list[str], body: list[str], **constants: object) -> object:
    """A kernel with a source of its own."""
    lines = [f"def kernel({', '.join(parameters)}):\n", *(f"    {line}\n" for line in body)]
    name = f"<case {next(_numbers)}>"
    inspect.modulesbyfile[name] = __name__  # else it looks into all modules for each kernel
    linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    scope = SCOPE | {"cuda": api, "types": numba.types, "__name__": __name__} | constants
    exec(compile("".join(lines), name, "exec"), scope)
    return api.jit(scope["kernel"])


def results(batch: Batch, place: str) -> dict[Case, object]:
    """The values of cases that share their inputs; an Answer where the machine refuses one."""
    run, found = {"lanes": _lanes, "arguments": _arguments, "constants": _constants}[place], {}
    while batch:
        try:
            return found | run(batch)
        except Exception as error:
            sentence = isinstance(error, KernelError)
            said = str(error) if sentence else f"{type(error).__name__}: {error}"
            culprit = CULPRIT.search(said) if sentence else None
            if len(batch) > 1 and not culprit:
                return found | {c: a for one in batch for c, a in results([one], place).items()}
            case, _ = batch.pop(int(culprit[1]) if len(batch) > 1 else 0)
            found[case] = Answer("refused" if sentence else "unclear", said)
    return found


def _lanes(batch: Batch) -> dict[Case, object]:
    """Operands that differ from lane to lane."""
    case, count = batch[0][0], len(inputs.columns(batch[0][0])[0])
    outputs, parameters, loads, columns = _outputs(batch, count), [], [], []
    for name, column in zip(names(case.text), inputs.columns(case), strict=True):
        for own in [f"A{k}" for k in range(len(batch))] if name == "A" else [name]:
            parameters.append(f"of_{own}")
            loads.append(f"{own} = of_{own}[i]")
            columns.append(column.copy())
    body = ["i = cuda.grid(1)", *loads, *_stores(batch, outputs, "i")]
    kernel = _kernel(_flat_names(outputs) + parameters, body)
    # Shared memory is one per block: then a block has one thread.
    block = 1 if "shared" in case.text else max(n for n in range(1, 257) if count % n == 0)
    kernel[count // block, block](*(part for parts in outputs for part in parts), *columns)
    found = {}
    for k, ((one, _), parts) in enumerate(zip(batch, outputs, strict=True)):
        changed = names(one.text)[0] == "A" and "[x]" not in one.text
        found[one] = [*parts, columns[k]] if changed else parts
    return found


def _arguments(batch: Batch) -> dict[Case, object]:
    """Operands that all lanes share: the kernel's arguments."""
    case = batch[0][0]
    rows, columns = few_rows(case), inputs.columns(case)
    outputs = _outputs(batch, len(rows))
    given = [*_flat_names(outputs), "i", *names(case.text)]
    kernel = _kernel(given, _stores(batch, outputs, "i"))
    for place, row in enumerate(rows):
        flat = (part for parts in outputs for part in parts)
        kernel[1, 1](*flat, place, *(column[row] for column in columns))
    return {one: parts for (one, _), parts in zip(batch, outputs, strict=True)}


def _constants(batch: Batch) -> dict[Case, object]:
    """Operands that the front end knows: NumPy's numbers outside of the kernel."""
    case = batch[0][0]
    rows, columns = few_rows(case), inputs.columns(case)
    outputs = _outputs(batch, len(rows))
    body, known = [], {}
    for place, row in enumerate(rows):
        lines = _stores(batch, outputs, str(place))
        for name, column in zip(names(case.text), columns, strict=True):
            known[f"{name}{place}"] = column[row]
            lines = [_renamed(line, name, f"{name}{place}") for line in lines]
        body += [re.sub(r"\b([rsv]\d+)\b", rf"\1_{place}", line) for line in lines]
    kernel = _kernel(_flat_names(outputs), body, **known)
    kernel[1, 1](*(part for parts in outputs for part in parts))
    return {one: parts for (one, _), parts in zip(batch, outputs, strict=True)}


def _outputs(batch: Batch, count: int) -> list[list[np.ndarray]]:
    """Arrays for the results of each case."""
    return [wide(np.zeros(count, inputs.result_dtype(kind))) for _, kind in batch]


def _flat_names(outputs: list[list[np.ndarray]]) -> list[str]:
    return [f"o{k}_{part}" for k, parts in enumerate(outputs) for part in range(len(parts))]


def _stores(batch: Batch, outputs: list[list[np.ndarray]], index: str) -> list[str]:
    """`r0 = x + y` and `o0_0[i] = r0` for each case; its own variables get its number."""
    found = []
    for k, ((case, _), parts) in enumerate(zip(batch, outputs, strict=True)):
        *before, last = case.text.split("; ")
        lines = [*before, f"r = {last}"]
        for name in "Arsv":
            lines = [_renamed(line, name, f"{name}{k}") for line in lines]
        which = [f"[{part}]" for part in range(len(parts))] if len(parts) > 1 else [""]
        lines += [f"o{k}_{part}[{index}] = r{k}{one}" for part, one in enumerate(which)]
        found += [f"{line}  # {k}" for line in lines]
    return found


def _renamed(line: str, name: str, new: str) -> str:
    return re.sub(rf"(?<![\w.]){name}\b", new, line)
