"""Place the course's modules and store their clocks: python tools/clock_report.py [MODULE ...]

labkit/data/clocks.ecp5.json gets what nextpnr says of each module from five seeds: of those named,
or of all whose sources have changed, but for whole networks, which have to be named and take hours.
A layer takes some minutes for each seed. With --check nothing is written: what is stored is
compared with fresh reports.
"""

import argparse
import sys
from contextlib import suppress

from labkit.fpga import clock_report
from labkit.fpga.clock_report import NOT_PLACED
from labkit.fpga.errors import RTLError


def main() -> None:
    """Makes the reports; writes or compares each as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("module", nargs="*", help="if none: all that have changed")
    parser.add_argument("--check", action="store_true", help="compare with what is stored")
    asked = parser.parse_args()
    differ = False
    for module in asked.module or changed():
        report = clock_report.fresh(module)
        print(f"{module}: {min(report['mhz'].values())} MHz", flush=True)
        if not asked.check:
            clock_report.write([report])
        elif found := clock_report.differences(report):
            print(f"{module}: other {', '.join(found)} than stored")
            differ = True
    if differ:
        sys.exit(f"Make them again: {clock_report.COMMAND}")


def changed() -> list[str]:
    """The modules without a clock of today's sources; not those that take long."""
    return [one for one in clock_report.MODULES if one not in NOT_PLACED and not known(one)]


def known(module: str) -> bool:
    """Whether a clock of today's sources is stored."""
    with suppress(RTLError):
        return bool(clock_report.stored(module))
    return False


if __name__ == "__main__":
    main()
