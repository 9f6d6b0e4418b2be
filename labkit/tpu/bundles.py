"""How long a Pallas kernel is: the bundles that the TPU compiler writes when it dumps a program.

A TPU core starts one **bundle**, up to some twenty instructions, in each cycle. The compiler's
undocumented flags `--xla_jf_dump_to` and `--xla_jf_dump_llo_text` make it write every bundle of a
kernel into a text; libtpu takes them from LIBTPU_INIT_ARGS when it is loaded, so in a child.
The flags and the text belong to no promised interface: another libtpu may write something else.
"""

import re
from math import prod
from pathlib import Path
from typing import NamedTuple

FLAGS = "--xla_jf_dump_to={} --xla_jf_dump_llo_text=true"
SLOTS = 4  # bundles behind a branch that run whether it is taken or not

_BUNDLE = re.compile(r" *(?:0x)?([0-9a-f]+) +(LB|LH|LE|PB|PF|CT)?:(?: |$)")
_BRANCH = re.compile(r"sbr\.rel \([^)]*\) target bundleno = (\d+) \([^)]*\), region = (\d+)")
_EMPTY = re.compile(r"Start/End empty region (\d+)")
_ALLOCATION = re.compile(r"#allocation.*space=vmem, size = (0x[0-9a-f]+).*tag = '([^']*)'")
_BOUNDS = re.compile(r"^iteration_bounds: \(([\d, ]+)\)", re.MULTILINE)


class KernelBundles(NamedTuple):
    """The bundles of one Pallas kernel, and the steps of its grid."""

    name: str  # the operation in the program
    bundles: int  # all that were written
    step: int  # the fewest in a step that multiplies: what it may skip is left out
    steps: int  # of the grid
    vmem: int  # bytes in VMEM that the kernel asks for: blocks and scratch
    spilled: int  # bytes in VMEM that the compiler adds, for what its registers do not hold

    @property
    def cycles(self) -> int:
        """steps * step: fewer than the chip needs, since no wait for memory is in it.

        Left out are also what only some steps do, and all rounds but the first of inner loops.
        """
        return self.steps * self.step


def flags(folder: Path) -> str:
    """What LIBTPU_INIT_ARGS must say, so that the compiler dumps into this folder."""
    return FLAGS.format(folder)


def kernels_in(folder: Path) -> list[KernelBundles]:
    """Every Pallas kernel whose bundles lie in the folder, in the order of their names.

    Raises ValueError for a text that cannot be read.
    """
    found = []
    for path in sorted(folder.glob("*-final_bundles.txt")):
        text = path.read_text("utf-8")
        if "custom-call(" in text.partition("entry bundle")[2]:
            program = re.sub(r"\d+-final_bundles.txt$", "", path.name)
            memory = [*folder.glob(f"{program}*-post-bundle-packing-post-ra.txt")]
            found.append(read(text, memory[0].read_text("utf-8") if memory else ""))
    return sorted(found)


def read(text: str, memory: str = "") -> KernelBundles:
    """The kernel of one `final_bundles.txt`, with the text in which its memory is laid out.

    A step is the body of the kernel's loop, without each stretch that a branch can skip and in
    which nothing is multiplied. A kernel whose grid has one step has no such loop: all counts.
    """
    head = re.search(r"entry bundle: %(\S+) = ", text)
    lines = _bundles(text)
    if head is None or not lines:
        said = "The compiler's dump holds no bundles that can be read: its text has changed"
        raise ValueError(f"{said}. Compile without bundles, or with libtpu 0.0.20.")
    bounds = _BOUNDS.search(text)
    steps = prod(int(bound) for bound in bounds[1].split(",")) if bounds else 1
    body = _loop(lines) if steps > 1 else range(len(lines))
    step = len(body) - len(_skipped(lines, body))
    sizes = [(tag, int(size, 16)) for size, tag in _ALLOCATION.findall(memory)]
    asked = sum(size for tag, size in sizes if tag.startswith(("operand", "scratch")))
    spilled = sum(size for tag, size in sizes if tag.startswith("spilled"))
    return KernelBundles(head[1], len(lines), step, steps, asked, spilled)


def _bundles(text: str) -> list[str]:
    """The text of each bundle, which may run over several lines; its number is its place."""
    found: list[str] = []
    for line in text.splitlines():
        match = _BUNDLE.match(line)
        if match and int(match[1], 16) == len(found):
            found.append(line)
        elif found:
            found[-1] += "\n" + line
    return found


def _loop(lines: list[str]) -> range:
    """The longest stretch that a branch runs back over: the loop over the grid's steps."""
    longest = range(len(lines), len(lines))
    for place, line in enumerate(lines):
        for target, _ in _BRANCH.findall(line):
            if int(target) <= place and place - int(target) >= len(longest):
                longest = range(int(target), min(place + SLOTS + 1, len(lines)))
    return longest or range(len(lines))


def _skipped(lines: list[str], body: range) -> set[int]:
    """The bundles that the shortest way through the multiplications leaves out."""
    ends = {}  # region: where its branch leads to
    for place in body:
        for region in _EMPTY.findall(lines[place]):
            ends.setdefault(region, place)
    left_out: set[int] = set()
    for place in body:
        for _, region in _BRANCH.findall(lines[place]):
            stretch = range(place + SLOTS + 1, ends.get(region, 0))
            if not any("vmatmul" in lines[inside] for inside in stretch):
                left_out |= {*stretch}
    return left_out
