"""Synthesise the accelerator and store the reports: python tools/accelerator_report.py

labkit/data/accelerator.synthesis.json gets what Yosys says of each folding of
`labkit.fpga.convnet.accelerator_report`, a minute or two for each. With --check nothing is written:
what is stored is compared with fresh reports.
"""

import argparse
import sys

from labkit.fpga.convnet import accelerator_report


def main() -> None:
    """Makes all reports; writes or compares them."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--check", action="store_true", help="compare with what is stored")
    check = parser.parse_args().check
    reports = []
    for folding in accelerator_report.FOLDINGS:
        print(f"{folding} ...", flush=True)
        reports.append(accelerator_report.fresh(folding))
    if not check:
        accelerator_report.write(reports)
        print(f"{accelerator_report.STORED}: {len(reports)} reports")
        return
    differ = False
    for report in reports:
        if found := accelerator_report.differences(report):
            print(f"{report['folding']}: other {', '.join(found)} than stored")
            differ = True
    if differ:
        sys.exit(f"Make them again: {accelerator_report.COMMAND}")
    print(f"{len(reports)} reports are as stored")


if __name__ == "__main__":
    main()
