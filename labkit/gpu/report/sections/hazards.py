"""Who finds which planted mistake: the SIMT machine, and the tools of compute-sanitizer."""

from collections.abc import Callable
from functools import partial

from labkit.gpu import profile
from labkit.gpu.report.rows import NotHere, Row, Work
from labkit.gpu.report.sections.planted import PLANTED, Planted
from labkit.gpu.report.sections.sanitizer import ToolReport, ask_all
from labkit.gpu.report.tasks import Bench
from labkit.provenance import counted


def work(bench: Bench, earlier: dict) -> Work:
    """A row for each kernel."""
    tools = ask_all()
    for planted in PLANTED:
        yield f"{planted.name}: {planted.mistake}", partial(compared, planted, tools)


def of_the_machine(planted: Planted) -> tuple[str, ...]:
    """The kinds of hazards that the SIMT machine reports, each once."""
    found = profile(
        planted.kernel, planted.grid, planted.block, *planted.arguments(), steps=100_000
    )
    kinds = [hazard.kind for hazard in found.hazards if hazard.severity == "error"]
    return tuple(dict.fromkeys(kinds))


def compared(planted: Planted, tools: dict[str, Callable[[], ToolReport]]) -> Row:
    """What both say of one kernel, and by which rule they differ."""
    ours = of_the_machine(planted)
    said = [f"SIMT machine: {', '.join(ours) or 'nothing'}"]
    found: list[str] = []
    silent: list[str] = []
    for tool, asked in tools.items():
        try:
            answer = asked()
        except NotHere:
            raise
        except Exception as error:  # the other tools may still speak
            silent.append(f"{tool} gave no answer ({' '.join(str(error).split())[:120]})")
            continue
        if planted.name not in answer.launched:
            silent.append(f"{tool} did not come to it")
        elif planted.name in answer.findings:
            found.append(tool)
            said.append(f"{tool}: {answer.findings[planted.name]}")
        elif planted.name not in answer.ended:
            how = "never ended" if planted.name in answer.stuck else "was stopped"
            expected = planted.stops and tool not in planted.tools
            where = said if expected else silent
            where.append(f"{tool} says nothing, and the launch {how}")
    if not found:
        said.append("compute-sanitizer: nothing")
    said += silent
    as_stated = ours == planted.kinds and set(found) == set(planted.tools)
    if as_stated:
        said.append(planted.rule or "The two agree")
    else:
        stated = ", ".join(planted.tools) or "no tool"
        said.append(f"NOT AS STATED: {stated} should speak")
    unit = "tool reports it" if len(found) == 1 else "tools report it"
    number = counted(len(found), unit, "reading what they print")
    return Row({"result": number}, as_stated if not silent else None, ". ".join(said))
