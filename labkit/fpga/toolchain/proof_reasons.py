"""What a solver found out about a module, in sentences: which stream or assertion, and where."""

import re

from labkit.fpga.ports import Ports
from labkit.fpga.sources import Sources
from labkit.fpga.toolchain.proof_bench import PROPERTIES

_PLACE = re.compile(r"(?P<file>[\w.-]+):(?P<line>\d+)")


def asked(ports: Ports, properties: str) -> str:
    """What was asked of a module, as the begin of a sentence: "The properties hold"."""
    held = [f"valid and data of {stream} hold until ready" for stream in ports.streams_out]
    own = ["the properties hold"] if properties.strip() else []
    text = ", and ".join(held + own) or "the assertions in the module hold"
    return text[0].upper() + text[1:]


def broken_stream(signal: str, trace: dict[str, list[int]], last: int) -> str:
    """The sentence for a `signal` that did not hold: NAME_valid, NAME_data or NAME_last."""
    stream = signal.rpartition("_")[0]
    word = trace[f"{stream}_data"][last - 1]
    before = f"In cycle {last - 1} {stream} offers the word {word} and {stream}_ready is 0"
    if signal.endswith("_valid"):
        return f"{before}; in cycle {last} {signal} is 0 again: the word is lost."
    now = trace[signal][last]
    was = trace[signal][last - 1]
    return (
        f"{before}; in cycle {last} {signal} is {now} in place of {was}, although nobody has "
        "taken it."
    )


def place_of(what: str, sources: Sources, properties: str) -> str | None:
    """Where the learner's own assertion stands, with its text; None for ours.

    what   as the solver names it: "file:12.9-12.30", or the label that the assertion bears
    """
    if found := _PLACE.match(what):
        file, number = found["file"], int(found["line"])
    else:
        file, number = _labelled(what.rpartition(".")[2], sources, properties)
    if file == PROPERTIES:
        lines = properties.splitlines()
        text = lines[number - 1].strip() if number <= len(lines) else ""
    elif file in sources.names:
        text = sources.line(file, number)
    else:
        return None
    return f"{file}, line {number}, `{text}`,"


def _labelled(label: str, sources: Sources, properties: str) -> tuple[str, int]:
    """File and line of a label; ("", 0) if the learner has none such."""
    for file, text in ((PROPERTIES, properties), *sources.files):
        for number, line in enumerate(text.splitlines(), start=1):
            if re.search(rf"\b{re.escape(label)}\s*:", line):
                return file, number
    return "", 0


def vacuous(unreached: list[str], sources: Sources, properties: str, depth: int) -> tuple[str, ...]:
    """A sentence for each case that never happens."""
    reasons = [f"Nothing is broken within {depth} cycles, but that says nothing."]
    if "can_run" in unreached:
        return (*reasons, "No input keeps the assumptions: do they contradict each other?")
    for what in unreached:
        if what.endswith("_can_wait"):
            stream = what.removesuffix("_can_wait")
            reasons.append(
                f"No word of {stream} ever waits: does {stream}_valid look at {stream}_ready?"
            )
        elif what.endswith("_can_move"):
            reasons.append(f"No word of {what.removesuffix('_can_move')} is ever handed over.")
        elif place := place_of(what, sources, properties):
            reasons.append(f"{place} is never asked, because its condition never holds.")
    return (*reasons, "If this takes longer, choose a larger depth.")
