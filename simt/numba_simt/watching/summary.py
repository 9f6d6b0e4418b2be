"""What a session showed, put in order: what is told, what is silenced, and the exit code."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from numba_simt.watching.endings import Ending
from numba_simt.watching.findings import ERROR, SEVERITIES, WARNING, Finding
from numba_simt.watching.session import KernelRecord, Refusal, Session
from numba_simt.watching.silencing import Rule, silence


@dataclass
class Summary:
    """What all forms of the report are made from."""

    program: str
    findings: list[Finding]  # errors first
    silenced: list[Finding]
    refusals: list[Refusal]
    kernels: list[KernelRecord]
    launches: int  # of each kernel and shape that are watched
    interrupted: str
    ending: Ending = field(default_factory=Ending)
    strict: bool = False  # warnings count as errors
    notes: list[str] = field(default_factory=list)
    has_children: bool = False  # processes whose launches are not here

    @property
    def failed(self) -> bool:
        """Whether there is an error, or under `strict` a warning."""
        bad = (ERROR, WARNING) if self.strict else (ERROR,)
        return any(one.severity in bad for one in self.findings)

    @property
    def exit_code(self) -> int:
        """1 for an error; else the program's own."""
        return 1 if self.failed else self.ending.code

    @property
    def watched(self) -> int:
        """Launches that were watched."""
        return sum(one.watched for one in self.kernels)

    @property
    def in_part(self) -> int:
        """Launches that were watched at first, and not to the end."""
        return sum(one.in_part for one in self.kernels)

    @property
    def unwatched(self) -> list[KernelRecord]:
        """Kernels of which no launch was watched to the end."""
        return [one for one in self.kernels if not one.watched]

    @property
    def plain(self) -> int:
        """Launches that were not watched at all."""
        return sum(one.plain for one in self.kernels)

    @property
    def how_launched(self) -> str:
        """`3 launches: 1 watched, 1 watched in part, 1 plain`"""
        launches = plural(self.watched + self.in_part + self.plain, "launch")
        part = f"{self.in_part:,} watched in part, " if self.in_part else ""
        return f"{launches}: {self.watched:,} watched, {part}{self.plain:,} plain"

    @property
    def verdict(self) -> str:
        """What was found, in a line, and whether the program raised."""
        raised = self.ending.error if not self.ending.interrupted else None
        return self._found + (f"; it raised {type(raised).__name__}" if raised else "")

    @property
    def _found(self) -> str:
        counts = Counter(one.severity for one in self.findings)
        said = [plural(counts[one], one) for one in SEVERITIES if counts[one]]
        here = " in this process" if self.has_children else ""
        places = len({(one.file, one.kernel) for one in self.findings})
        if said:
            where = f" in {plural(places, 'kernel')}"
        elif not self.kernels:
            return f"no kernel was launched{here}" + (", one was refused" if self.refusals else "")
        else:
            said, where = ["nothing found"], f" in {plural(len(self.kernels), 'kernel')}{here}"
        if self.refusals:
            where += f", {plural(len(self.refusals), 'refusal')}"
        if self.unwatched:
            where += f", {self._how_many_unwatched} watched to the end"
        return ", ".join(said) + where

    @property
    def _how_many_unwatched(self) -> str:
        """How many of the kernels were not."""
        missed, launched = len(self.unwatched), len(self.kernels)
        if missed < launched:
            return f"{missed} of {launched} not"
        return "not" if launched == 1 else "none of them"


def plural(count: int, what: str) -> str:
    """1 kernel, 2 kernels; 1 launch, 2 launches."""
    ending = "es" if what.endswith("ch") else "s"
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}{ending}"


def summarise(
    session: Session,
    program: str,
    ending: Ending | None = None,
    rules: Sequence[Rule] = (),
    strict: bool = False,
) -> Summary:
    """The summary of a session; rules silence findings, as comments in their lines do."""
    found = sorted(session.findings.values(), key=_rank)
    silence(found, rules)
    return Summary(
        program=program,
        findings=[one for one in found if not one.silenced],
        silenced=[one for one in found if one.silenced],
        refusals=[*session.refusals.values()],
        kernels=[*session.kernels.values()],
        launches=session.launches,
        interrupted=session.interrupted,
        ending=ending or Ending(),
        strict=strict,
        notes=_about_launches(session),
    )


def _rank(finding: Finding) -> tuple:
    known = {severity: i for i, severity in enumerate(SEVERITIES)}
    return known.get(finding.severity, len(known)), finding.file, finding.line, finding.kind


def _about_launches(session: Session) -> list[str]:
    """What was watched in part, or not at all, and why."""
    notes = []
    for one in session.kernels.values():
        if one.unwatched:
            names = ", ".join(sorted(one.unwatched))
            notes.append(
                f"{one.name}: {names} would need more than 4 GB to remember who touched what. "
                "Races there were not looked for; all else was."
            )
        if one.in_part:
            notes.append(
                f"{one.name}: watching {plural(one.in_part, 'launch')} was given up, as it took "
                "too long; what was seen until then is told, and it ran again, plain."
            )
        if one.too_large:
            notes.append(
                f"{one.name}: {plural(one.too_large, 'launch')} ran plain, as watching took too "
                "much memory."
            )
    if session.interrupted:
        notes.append(f"Ctrl-C ended {session.interrupted}: what it showed until then is here.")
    return notes
