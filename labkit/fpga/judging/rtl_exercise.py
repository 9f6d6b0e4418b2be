"""Exercises whose answer is SystemVerilog: simulated, compared word by word, then weighed.

An answer is the text of one module. It must pass lint and have the ports of the course's own
module; then it is simulated on every case, as fast as it goes, with stalls, and with a second reset
in the middle of a run, and what its streams hand over is compared with the oracle. Only when all
words are right, a proof may be demanded, and the cycles, the room for words, the gates and the
clock are held against their limits.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from labkit.checks.items import Case, Exercise
from labkit.checks.lesson_files import exercise
from labkit.fpga.judging.demands import Demands
from labkit.fpga.judging.rtl_judge import Drive, RTLJudge
from labkit.fpga.simulate import Simulation

__all__ = ["Drive", "reader", "rtl_exercise"]


def rtl_exercise(
    id: str,
    *,
    top: str,
    solution: str,
    drive: Callable[..., Drive],
    cases: Callable[[np.random.Generator], Iterable[Case]],
    oracle: Callable,
    wrong: Mapping[str, Callable],
    support: Sequence[Any] = (),
    read: Callable[..., Any] | None = None,
    cycles: Callable[..., int] | None = None,
    gates: Mapping[str, int] | None = None,
    gate_parameters: Mapping[str, int] | None = None,
    proves: str | None = None,
    depth: int = 20,
    clock: float | None = None,
    given: str | None = None,
    keeps: int = 0,
    early_ready: bool = False,
    **fields: Any,
) -> Exercise:
    """An `Exercise` of which the learner writes a module; its texts stand beside its module.

    top       the module's name
    solution  the lesson's own module, from what `labkit build` writes
    drive     drive(*inputs) -> a `Drive`: what is offered on which port
    oracle    oracle(*inputs): the expected outputs, from NumPy
    wrong     a function like the oracle for each misconception
    support   further sources that the module may use, paths of labkit's own
    read      read(simulation, *inputs) -> the outputs; without it, the words of the streams (or
              the values of the ports) that `outputs` names
    cycles    cycles(*inputs) -> how many clock cycles a run without stalls may take
    gates     what the synthesised module may use: {"dsp": 4, "lut": 200}
    gate_parameters   with these parameters; without them, with those that the top declares
    proves    rules that no input may break, beside that each stream out holds a word until it is
              taken: the `properties` of `prove`, "" for nothing else. A counterexample is refused,
              and a proof of nothing; a right module for which induction is too weak is not
    depth     how many cycles the solver looks at: twice as many can take it minutes
    clock     the share of the highest clock of the course's own module that is enough: 0.8; both
              are compiled for the ECP5, so that they are the same on every machine
    keeps     how many words must find room in the module while nobody takes one
    early_ready   whether the text asks for a ready of 1 also while no word is offered
    given     the module that the learner is to repair: as it stands, it is not yet an answer
    fields    those of an `Exercise`
    """
    outputs = fields.get("outputs", ("y",))
    demands = Demands(
        top, solution, support, proves, depth, cycles, gates or {}, clock, gate_parameters or {}
    )
    read = read or reader(outputs)
    judge = RTLJudge(
        top, solution, support, drive, read, demands, given, keeps, early_ready, outputs
    )
    defaults = {"outputs": outputs, "dtype": "any", "rtol": 0.0, "atol": 0.0}
    return exercise(
        id,
        oracle,
        cases,
        wrong,
        cost=judge.costs,
        adapter=judge.adapter,
        plain=judge.plain,
        fallback=solution,
        locate=judge.locate,
        ahead=judge.ahead,
        **(defaults | fields),
    )


def reader(outputs: Sequence[str]) -> Callable:
    """Takes the named streams or ports out of a simulation."""

    def read(simulation: Simulation, *inputs: Any) -> Any:
        found = tuple(np.asarray(simulation.outputs[name]) for name in outputs)
        return found if len(found) > 1 else found[0]

    return read
