"""Numba's own kernel tests as a judgement of the SIMT machine (make numba-tests).

    make numba-tests                              all, compared with the ledger
    make numba-tests ARGS="--module test_sm"      some modules (may be given several times)
    make numba-tests ARGS=--quick                 all but the slow ones, as `make test` does
    make numba-tests ARGS=--write                 the ledger anew, from this run

The tests of the installed numba-cuda run with the machine in place of numba.cuda, in a process of
their own. tests/beside_numba/numba_ledger.toml says what became of each: passed, refused in a
sentence, or not about kernels. A wrong value, a kernel that only Numba refuses, a crash, and an
error without a sentence are never entries. The exit code is 1 for those, and for any difference.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from kernel_tests import ledger as ledgers
from kernel_tests.children import records
from kernel_tests.judge import FORBIDDEN, STATUSES, Verdict, judge
from kernel_tests.ledger import Ledger, module_of
from kernel_tests.written import written

LEDGER = Path(__file__).parents[1] / "tests" / "beside_numba" / "numba_ledger.toml"
FOLDERS = "cudapy", "doc_examples"
PACKAGE = "numba.cuda.tests."


def installed() -> dict[str, Path]:
    """Module -> file, for the modules of tests in the installed numba-cuda."""
    root = Path(find_spec("numba_cuda").origin).parent / "numba" / "cuda" / "tests"
    files = [path for folder in FOLDERS for path in sorted((root / folder).glob("test_*.py"))]
    return {f"{path.parent.name}.{path.stem}": path for path in files}


def chosen(modules: Iterable[str], wanted: list[str], ledger: Ledger) -> list[str]:
    """The modules to run: those that are wanted, or all that are about kernels."""
    known = {name: module for module in modules for name in (module, module.split(".")[1])}
    if unknown := [name for name in wanted if name not in known]:
        raise SystemExit(f"numba-cuda's tests have no module {', '.join(unknown)}.")
    found = [known[name] for name in wanted]
    for module in {*found} & {*ledger.modules}:
        raise SystemExit(f"{module} is not about kernels, but: {ledger.modules[module]}.")
    return found or [module for module in modules if module not in ledger.modules]


def run(modules: list[str], leave_out: Iterable[str]) -> dict[str, Verdict]:
    """Test -> verdict, for the tests of the modules."""
    order = {f"{PACKAGE}{module}": set() for module in modules}
    for name in leave_out:
        order.get(PACKAGE + module_of(name), set()).add(name.removeprefix(module_of(name) + "."))
    try:
        found = [*records(order)]
    except RuntimeError as error:
        raise SystemExit(str(error)) from error
    return {f"{r['module'].removeprefix(PACKAGE)}.{r['test']}": judge(r) for r in found}


def differences(ledger: Ledger, now: dict[str, Verdict], missing: Iterable[str]) -> list[str]:
    """What differs from the ledger, a line each; `missing` are tests of it that did not run."""
    said = []
    for name, verdict in sorted(now.items()):
        verdict, words = ledger.excused(name, verdict), " ".join(verdict.text.split())[:200]
        before, is_now = ledger.tests.get(name), f"{verdict.status} {verdict.reason}".strip()
        if verdict.status in FORBIDDEN:
            said.append(f"{name}: {verdict.status}, {FORBIDDEN[verdict.status]}: {words}")
        elif before is None:
            said.append(f"{name}: is not in the ledger, and {is_now}")
        elif before[:2] != verdict[:2]:
            was = f"{before.status} {before.reason}".strip()
            said.append(f"{name}: was {was}, now {is_now}" + f": {words}" * bool(words))
        elif name in ledger.excuses and now[name].status not in FORBIDDEN:
            said.append(f"{name}: its excuse is needed no more")
    return said + [f"{name}: is in the ledger, but there is no such test" for name in missing]


def report(ledger: Ledger, now: dict[str, Verdict], said: list[str]) -> None:
    """The counts of the tests that ran, in the ledger and now, and the differences."""
    before = Counter(v.status for name, v in ledger.tests.items() if name in now)
    after = Counter(ledger.excused(name, verdict).status for name, verdict in now.items())
    print(f"{'':20}{'ledger':>8}{'now':>8}")
    for status in reversed(STATUSES):
        print(f"{status:20}{before[status]:8,}{after[status]:8,}")
    print("\nNothing differs from the ledger." if not said else f"\nWhat differs ({len(said)}):")
    print("\n".join(f"  {line}" for line in said), end="\n" * bool(said))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--module", action="append", default=[], help="only this module")
    parser.add_argument("--quick", action="store_true", help="leave out the slow tests")
    parser.add_argument("--write", action="store_true", help="write the ledger from this run")
    asked = parser.parse_args()
    if not find_spec("numba_cuda"):
        print("numba-cuda is not installed here, so its tests cannot run.")
        return 0
    ledger, files, here = ledgers.read(LEDGER), installed(), version("numba-cuda")
    modules, slow = chosen(files, asked.module, ledger), {*ledger.slow} if asked.quick else set()
    aside = {m: sum(1 for _ in written(path)) for m, path in files.items() if m in ledger.modules}
    print(f"numba-cuda {here}: {len(modules)} modules run on the SIMT machine.")
    print(f"{sum(aside.values()):,} tests of {len(aside)} modules are not about kernels.")
    now = run(modules, slow)
    missing = {name for name in ledger.tests if module_of(name) in modules} - {*now} - slow
    if here != ledger.version and not asked.write:
        both = {name: now[name] for name in now if name in ledger.tests}
        new, gone = len(now) - len(both), len(missing)
        print(f"The ledger is of {ledger.version}: {gone} tests of it are gone, {new} are new.")
        now, missing = both, set()
    said = differences(ledger, now, sorted(missing))
    report(ledger, now, said)
    if asked.write:
        judged = {name: ledger.excused(name, verdict) for name, verdict in now.items()}
        kept = {name: verdict for name, verdict in ledger.tests.items() if name not in missing}
        ledgers.write(LEDGER, replace(ledger, version=here, tests=kept | judged))
        said = [name for name, verdict in judged.items() if verdict.status in FORBIDDEN]
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
