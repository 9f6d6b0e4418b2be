"""Is a module sound? Verilator's lint, then Yosys' check: the first finding, as one sentence.

Findings that a tool only warns of, and that are nearly always a mistake, count as errors here:
a forgotten `else` is a latch in silicon, and a bit that does not fit is gone.
"""

import re

from labkit.fpga.errors import RTLError
from labkit.fpga.judging.likely_slips import likely
from labkit.fpga.sources import Sources, without_comments
from labkit.fpga.toolchain import elaborate, lost_bits, subset
from labkit.fpga.toolchain.cached import cached, text_of
from labkit.fpga.toolchain.elaborate import elaborated
from labkit.fpga.toolchain.subset import refuse_foreign
from labkit.fpga.toolchain.verilated import run_verilator, version
from labkit.fpga.toolchain.yosys import yosys_version

# What to do about a warning of Verilator that we refuse; its other warnings are let pass.
ADVICE = {
    "BLKSEQ": "In `always_ff` write `<=`: all registers change together, at the clock edge.",
    "COMBDLY": "In `always_comb` write `=`: there is no clock edge to wait for.",
    "IMPLICIT": "Declare it, or correct the name.",
    "LATCH": "Give it a value on each path: begin the block with a default.",
    "MULTIDRIVEN": "Assign each signal in one place only.",
    "PINMISSING": "Connect each port of the instance; `.name()` leaves an output open.",
    "UNDRIVEN": "Assign it, or remove it.",
    "WIDTHTRUNC": "If that is meant, say so with a cast, `{}'(...)`; else widen the left side.",
}
_OPTIONS = ["--lint-only", "-Wall", "-Wno-fatal", "--no-timing"]
_WRITTEN = (__file__, subset.__file__, elaborate.__file__, lost_bits.__file__)  # what judges here
# Words of Verilator's about a name, and ours.
_OWN = {
    r"Procedural assignment to wire.*'(\w+)'": (
        "A process assigns to `{0}`, which is a wire. Declare it `logic {0};`."
    ),
    r"Blocking and non-blocking assignments.*'(\w+)'": (
        "`{0}` is assigned with `=` in one place and with `<=` in another. Assign each signal in "
        "one place only."
    ),
    r"Non-genvar used in generate for: '(\w+)'": (
        "The loop makes copies of hardware, so its `{0}` is a genvar: `for (genvar {0} = 0; ...`."
    ),
}
_FINDING = re.compile(
    r"^%(?P<kind>Error|Warning)(?:-(?P<code>\w+))?: (?P<file>[\w.-]+):"
    r"(?P<line>\d+):(?P<column>\d+): (?P<words>.*)$",
    re.MULTILINE,
)
_WIDTHS = re.compile(r"expects (\d+) bits?.* generates (?:\d+ or )?(\d+) bits")
_INDEX = re.compile("Bit extraction of array")  # one beyond the end is told when it is used
_LOOP = re.compile(r"found logic loop in module .*\n(?:[ \t]+.*\n)*")
_WIRE = re.compile(r"wire \\(?P<name>\S+)")
_PLACE = re.compile(r"source: (?P<file>[\w.-]+):(?P<line>\d+)")
_DRIVERS = re.compile(r"conflicting drivers for \w+\.\\?(?P<name>[^\s:]+)")
_MODULE = re.MULTILINE | re.DOTALL
_NO_DRIVER = re.compile(r"Wire \w+\.\\?(?P<name>\S+).* is used but has no driver")


def lint(sources: Sources, parameters: dict[str, int], cpp: bool = False) -> None:
    """Raises RTLError with the file and the line of the first thing that is wrong.

    In this order: constructs outside the subset, what Verilator refuses, its warnings of `ADVICE`,
    what Yosys refuses, combinational loops, several drivers of a signal, and signals without one.

    cpp   whether the module's C++ is wanted soon: Yosys writes it in the same process
    """
    refuse_foreign(sources)
    with sources.laid_out() as folder:
        done = run_verilator(_OPTIONS, sources, parameters, folder)
        findings = list(_FINDING.finditer(done.stderr))
        cuts = any(finding["code"] == "WIDTHTRUNC" for finding in findings)
        harmless = lost_bits.harmless(sources, parameters, folder) if cuts else set()
        _judge_verilator(findings, harmless, sources)
        if done.returncode:
            raise RTLError(f"Verilator refuses {sources.top}: {_first_error(done.stderr)}")
    found = elaborated(sources, parameters, cpp)
    if found.checked is None:
        raise found.refusal()
    _judge_yosys(found.checked, sources)


def refuse_errors(sources: Sources) -> None:
    """Raises RTLError for the first error of Verilator's, which takes a hundredth of a second."""
    refuse_foreign(sources)
    with sources.laid_out() as folder:
        done = run_verilator(_OPTIONS, sources, {}, folder)
    errors = [one for one in _FINDING.finditer(done.stderr) if one["kind"] == "Error"]
    _judge_verilator(errors, set(), sources)


def lint_once(sources: Sources, parameters: dict[str, int]) -> None:
    """Does what `lint` does; sources that are found sound are not looked at again."""
    chosen = sorted(parameters.items())
    tools = [version(), yosys_version(), text_of(*_WRITTEN)]

    def sound() -> dict:
        lint(sources, parameters)
        return {}

    cached("lint", [sources.digest, sources.names, repr(chosen), tools], sound)


def _judge_verilator(
    findings: list[re.Match], harmless: set[lost_bits.Place], sources: Sources
) -> None:
    errors = [finding for finding in findings if finding["kind"] == "Error"]
    warnings = [finding for finding in findings if finding["code"] in ADVICE]
    for finding in errors + warnings:
        place = (finding["file"], int(finding["line"]), int(finding["column"]))
        cut = finding["code"] == "WIDTHTRUNC"
        if cut and (place in harmless or _INDEX.match(finding["words"])):
            continue
        words = _own_words(finding["code"], finding["words"])
        raise _at(sources, finding["file"], int(finding["line"]), words)


def _own_words(code: str | None, words: str) -> str:
    """Verilator's words as a sentence, with what to do."""
    if code == "WIDTHTRUNC" and (widths := _WIDTHS.search(words)):
        lost = f"{widths[2]} bits go into {widths[1]}, so the upper ones are lost"
        words = f"{lost}. {ADVICE[code].format(widths[1])}"
        if widths[2] == "32":  # an address from a parameter, most likely
            return f"{words} A parameter N has 32 bits: `$clog2(N)'(N - 1)`."
        return words
    if code == "MODMISSING":
        name = words.rpartition(" ")[2]
        return f"There is no module {name} in the sources: hand it over as well."
    for pattern, own in _OWN.items():
        if found := re.search(pattern, words):
            return own.format(found[1])
    words = words.partition(". ")[0].rstrip(".")  # what follows is about Verilator's own speed
    return f"{words}. {ADVICE.get(code, '')}".strip()


def _judge_yosys(output: str, sources: Sources) -> None:
    """Raises RTLError for a loop of logic, several drivers, or none, in what Yosys has printed."""
    if loop := _LOOP.search(output):
        through = ", ".join(dict.fromkeys(_WIRE.findall(loop.group()))) or "itself"
        words = f"The logic drives itself, in a loop through {through}. Put a register into it."
        place = _PLACE.search(loop.group())
        raise _at(sources, place["file"], int(place["line"]), words)
    if several := _DRIVERS.search(output):
        words = f"{several['name']} is driven in several places. {ADVICE['MULTIDRIVEN']}"
        raise _at(sources, *_assignment(sources, several["name"]), words)
    if undriven := _NO_DRIVER.search(output):
        words = f"{undriven['name']} is used and nothing drives it. {ADVICE['UNDRIVEN']}"
        raise _at(sources, *_assignment(sources, undriven["name"]), words)


def _at(sources: Sources, file: str, number: int, words: str) -> RTLError:
    told = sources.quoted(file, number) + likely(sources, file, number, words)
    return RTLError(f"{file}, line {number}: {words}{told}", number)


def _assignment(sources: Sources, name: str) -> tuple[str, int]:
    """File and line of the last assignment to a signal of the top, else of the first mention."""
    file, text, start = _top(sources)
    plain = re.escape(name.partition(".")[0])
    assigned = list(re.finditer(rf"\b{plain}\b\s*(?:\[[^]]*\]\s*)*<?=", text))
    mentioned = list(re.finditer(rf"\b{plain}\b", text))
    place = (assigned[-1:] + mentioned[:1])[0]
    return file, start + text.count("\n", 0, place.start())


def _top(sources: Sources) -> tuple[str, str, int]:
    """The file, the text and the first line of the top module."""
    for file, whole in sources.files:
        text = without_comments(whole)
        if found := re.search(rf"^\s*module\s+{sources.top}\b.*?\bendmodule\b", text, _MODULE):
            return file, found.group(), text.count("\n", 0, found.start()) + 1
    raise AssertionError("read_sources has found the top")


def _first_error(output: str) -> str:
    error = re.search(r"^%Error[^:]*: (.*)$", output, re.MULTILINE)
    return error[1] if error else "it gives no reason"
