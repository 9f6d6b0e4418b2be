"""Every function x dtype that a kernel may use: numba-cuda against the SIMT machine.

    python simt/tools/numba_functions.py [--write] [--only REGEX]

Asks numba-cuda's compiler, which needs no GPU, which of them it compiles, and runs what it makes of
them on a CPU; asks the SIMT machine the same; compares acceptance, types and values. Says what
differs:

    WRONG    both accept it, and the SIMT machine's result has another value or type
    LENIENT  numba-cuda refuses it, the SIMT machine does not
    UNTRUE   the SIMT machine's reason is that Numba does not have it, and numba-cuda does
    UNCLEAR  an exception that is no sentence
    CRASH    the process ended
    STALE    the committed answers of beside_numba/numba_functions.toml are not numba-cuda's
    STRICT   numba-cuda compiles it, the SIMT machine refuses it: allowed, and counted

The exit code is 1 if there is anything but STRICT. `--write` commits numba-cuda's answers.
"""

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from functions_by_dtype import compare, compiler, inputs, machine, oracle, verdicts
from functions_by_dtype.cases import Case, cases
from functions_by_dtype.machine import Answer

ALLOWED = "STRICT"
EXAMPLES = 3


class Difference(NamedTuple):
    kind: str
    case: Case
    what: str


def main() -> int:
    parser = argparse.ArgumentParser(description="numba-cuda against the SIMT machine.")
    parser.add_argument("--write", action="store_true", help="commit numba-cuda's answers")
    parser.add_argument("--only", default="", help="expressions that this regular expression finds")
    options = parser.parse_args()
    asked = [c for c in cases() + compiler.libdevice_cases() if re.search(options.only, c.text)]
    step = _steps()
    step(f"numba-cuda {compiler.version()} is asked for {len(asked):,} cases")
    types, values, found = differences(asked, machine.PLACES, step)
    now = _verdicts(types, values)
    if options.write and not options.only:
        verdicts.save(now)
        step(f"written: {verdicts.ACCEPTED.name}, {verdicts.DIGESTS.name}")
    found += _stale(now)
    step("done")
    return _report(found)


def differences(
    asked: list[Case],
    places: tuple[str, ...],
    step: Callable[[str], None] = lambda text: None,
    **options: int,
) -> tuple[dict, dict, list[Difference]]:
    """numba-cuda's types and values, and where the SIMT machine's differ; `options` are NVVM's."""
    compiled, modules = compiler.ask(asked, **options)
    types = {case: answer.type for case, answer in compiled.items()}
    step(f"it accepts {sum(kind is not None for kind in types.values()):,}; their code runs here")
    values = oracle.values(modules, compiled)
    partly = sum(found.open.any() for found in values.values())
    step(f"{len(values):,} have values, {partly:,} not in every row; the SIMT machine is asked")
    answers = machine.ask(asked)
    found = list(_acceptance(types, answers))
    both = [case for case in values if answers[case].kind == "accepted"]
    for place in places:
        step(f"it computes {len(both):,} from {place}")
        found += _values(both, types, values, machine.compute(both, types, place), place)
    return types, values, found


def _steps() -> Callable[[str], None]:
    """Prints what is being done, behind the seconds so far."""
    start = time.monotonic()
    return lambda text: print(f"{time.monotonic() - start:6.0f} s  {text}", flush=True)


def _acceptance(types: dict[Case, str | None], answers: dict[Case, Answer]) -> Iterator[Difference]:
    """Where one accepts what the other refuses, or both accept with other types."""
    for case, kind in types.items():
        answer = answers[case]
        if answer.kind in ("unclear", "crash"):
            yield Difference(answer.kind.upper(), case, answer.text)
        elif answer.kind == "refused" and kind:
            untrue = compare.CLAIM.search(answer.text)
            yield Difference("UNTRUE" if untrue else ALLOWED, case, answer.text)
        elif answer.kind == "accepted" and not kind:
            yield Difference("LENIENT", case, "numba-cuda refuses it")
        elif answer.kind == "accepted" and answer.text != (name := compare.type_name(kind)):
            yield Difference("WRONG", case, f"is {answer.text}, in numba-cuda {name}")


def _values(
    both: list, types: dict, values: dict, computed: dict, place: str
) -> Iterator[Difference]:
    """Where the results differ; what the compiled code leaves open is not compared."""
    for case in both:
        got = computed.get(case)
        if got is None:
            continue
        if isinstance(got, Answer):
            kind = "WRONG" if got.kind == "refused" else got.kind.upper()
            yield Difference(kind, case, f"from {place}: {got.text}")
            continue
        rows = np.arange(len(values[case].open)) if place == "lanes" else machine.few_rows(case)
        want = compare.rows(oracle.expected(case, values[case]), rows)
        kind = inputs.result_dtype(types[case])
        wrong = compare.differ(case, kind, want, got) & ~values[case].open[rows]
        if wrong.any():
            yield Difference("WRONG", case, _examples(case, want, got, rows, wrong, place))


def _examples(case: Case, want: list, got: list, rows: list, wrong: np.ndarray, place: str) -> str:
    shown = [
        f"({compare.given(case, rows[i])}) is {compare.shown(case, got, i)}, "
        f"on a GPU {compare.shown(case, want, i)}"
        for i in np.flatnonzero(wrong)[:EXAMPLES]
    ]
    return f"from {place}, {wrong.sum()} of {len(wrong)} rows: {'; '.join(shown)}"


def _verdicts(types: dict[Case, str | None], values: dict) -> verdicts.Verdicts:
    accepted, digests = {}, {}
    for case, kind in types.items():
        listed = accepted.setdefault(case.text, {})
        if kind:
            listed[case.dtypes] = kind
        promised = case in values and not values[case].open.any()
        if promised and compare.exact(case, inputs.result_dtype(kind)):
            digests[case] = compare.digest(oracle.expected(case, values[case]))
    return verdicts.Verdicts(compiler.version(), accepted, digests)


def _stale(now: verdicts.Verdicts) -> Iterator[Difference]:
    """Where the committed answers are others."""
    if not verdicts.ACCEPTED.exists():
        return
    then = verdicts.load()
    if then.version != now.version:
        print(f"The committed answers are of numba-cuda {then.version}.")
    for text, found in now.accepted.items():
        before = then.accepted.get(text)
        for dtypes in found.keys() | (before or {}).keys():
            a, b = (before or {}).get(dtypes), found.get(dtypes)
            if a != b:
                yield Difference("STALE", Case(text, dtypes), f"committed {a}, now {b}")
    for case, digest in now.digests.items():
        if then.digests.get(case) != digest:
            yield Difference("STALE", case, "the committed digest is another")


def _report(found: list[Difference]) -> int:
    """Prints the differences, one line for what an expression has in common; the exit code."""
    groups = {}
    for kind, case, what in found:
        groups.setdefault((kind, case.text), []).append((case.dtypes, what))
    for kind in sorted({kind for kind, _ in groups}):
        print(f"\n{kind}: {sum(one.kind == kind for one in found):,}")
        for (_, text), rows in ((key, rows) for key, rows in groups.items() if key[0] == kind):
            dtypes = " ".join(dict.fromkeys(",".join(dtypes) for dtypes, _ in rows))
            print(f"  {text}  [{dtypes}]\n      {rows[0][1]}")
    counts = Counter(one.kind for one in found)
    print("\n" + (", ".join(f"{n:,} {kind}" for kind, n in counts.items()) or "No difference."))
    return int(bool(counts.keys() - {ALLOWED}))


if __name__ == "__main__":
    sys.exit(main())
