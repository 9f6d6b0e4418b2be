"""Exercises whose answer is a kernel: launched by `profile`, judged by result, hazards and cost."""

import copy
import inspect
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from labkit.checks.items import Case, CostLimitExceeded, Exercise, Refused, Unsolved
from labkit.checks.lesson_files import exercise
from labkit.gpu.judging.cost_limits import ProfiledLaunch, over_limit
from labkit.provenance import Quantity

STEPS = 300_000  # in loops: far more than any exercise needs, and soon over
MARK = np.float32(-4096.5)  # what a kernel's output holds before the launch


def kernel_exercise(
    id: str,
    *,
    launch: Callable[..., tuple],
    kernel: Callable,
    cases: Callable[[np.random.Generator], Iterable[Case]],
    oracle: Callable,
    wrong: Mapping[str, Callable],
    limit: Callable[..., str | None] = lambda profile, kernel, *inputs: None,
    cause: Callable[..., str | None] = lambda profile, hazard, *arguments: None,
    costs: Sequence[str] = (),
    fills: bool = True,
    anywhere: bool = False,
    **fields: Any,
) -> Exercise:
    """An `Exercise` of which the learner gives the kernel; its texts stand beside its module.

    launch   launch(*inputs) -> (grid, block, outputs); the kernel gets inputs, then outputs, which
             are what the oracle returns. A kernel that gets other arguments has them all in a
             fourth item; one that works in place gets copies, and needs fills=False:
             (grid, block, (p, v), (p, v, gradient, rate))
    kernel   the lesson's solution, from the module that `labkit build` writes
    oracle   oracle(*inputs): the outputs, from NumPy; inputs may be arrays and numbers
    wrong    a function like the oracle for each misconception
    limit    limit(profile, kernel, *inputs) -> a sentence when the numbers are right but the cost
             of the learner's kernel is not
    cause    cause(profile, hazard, *arguments of the kernel) -> a sentence in the place of the
             machine's advice on a hazard, where the exercise knows better what led to it
    costs    counters shown after success, of the learner's kernel on the largest case
    fills    the kernel must write every element of its outputs, whatever was there before
    anywhere  a warp's requests may touch as many sectors as they like: the text says no such cost
    fields   those of an `Exercise`; without `outputs` the kernel's last parameter is the one
    """
    judge = KernelJudge(launch, kernel, limit, cause, fills, anywhere)

    def cost() -> list[tuple[str, Quantity]]:
        names = [case.name for case in cases(np.random.default_rng(0))]
        return judge.costs_of_largest(names, costs)

    *_, last_parameter = inspect.signature(kernel.py_func).parameters
    defaults = {"outputs": (last_parameter,), "dtype": "float32"}
    return exercise(
        id,
        oracle,
        cases,
        wrong,
        cost=cost if costs else None,
        adapter=judge.adapter,
        plain=judge.plain,
        fallback=kernel,
        **(defaults | fields),
    )


def judge_of(exercise: Exercise) -> "KernelJudge":
    """Who launches the kernels of an exercise that `kernel_exercise` made."""
    return exercise.plain.__self__


class LaunchSetup(NamedTuple):
    """With what a kernel is launched on the inputs of one case."""

    grid: Any
    block: Any
    outputs: tuple[np.ndarray, ...]  # those among the arguments that hold the result
    arguments: tuple


class KernelJudge:
    """Launches a learner's kernel and the course's on the same inputs, and compares them."""

    def __init__(
        self,
        launch: Callable[..., tuple],
        kernel: Callable,
        limit: Callable[..., str | None],
        cause: Callable[..., str | None],
        fills: bool,
        anywhere: bool = False,
    ) -> None:
        """The arguments are those of `kernel_exercise`."""
        self.launch = launch
        self.kernel = kernel
        self.limit = limit
        self.cause = cause
        self.fills = fills
        self.anywhere = anywhere
        self.theirs: list[ProfiledLaunch] = []  # of the learner's kernel, in the order of the cases
        self.ours: dict[bytes, ProfiledLaunch] = {}  # the cases are the same at every check

    def set_up(self, inputs: tuple) -> LaunchSetup:
        """The exercise's `launch` on these inputs, with all arguments of the kernel."""
        grid, block, outputs, *arguments = self.launch(*inputs)
        every_argument = arguments[0] if arguments else (*inputs, *outputs)
        return LaunchSetup(grid, block, outputs, every_argument)

    def plain(self, answer: Any, *inputs: Any) -> Any:
        """What a kernel computes, judged by nobody."""
        setup = self.set_up(inputs)
        answer[setup.grid, setup.block](*setup.arguments)
        return as_returned(setup.outputs)

    def adapter(self, answer: Any) -> Callable:
        """A function of the inputs that launches the learner's kernel; or Refused."""
        compiled = as_kernel(answer)
        module = getattr(answer.py_func, "__module__", None)
        if isinstance(module, str) and module.startswith(("labkit.", "labkit_lessons.")):
            raise Refused("This is the course's own kernel: write yours.")
        self.theirs.clear()
        return lambda *inputs: self.judged(answer, compiled, inputs)

    def judged(self, answer: Any, compiled: Any, inputs: tuple) -> Any:
        """The outputs of the kernel; Refused, Unsolved or CostLimitExceeded where these say all.

        answer is the kernel as it was handed in, compiled the same for the SIMT machine.
        """
        setup = self.set_up(inputs)
        before = copy.deepcopy(setup.outputs)
        if self.fills:
            for output in setup.outputs:
                output.fill(MARK)
        theirs = launched(compiled, setup, answer, self.cause)
        self.theirs.append(theirs)
        ours = self.launch_of_ours(inputs)
        right = all(map(alike, theirs.outputs, ours.outputs))
        if right:
            self.demand_low_cost(theirs, ours, inputs)
        elif unchanged(theirs.outputs, before):
            raise Unsolved("the kernel changes nothing")
        if not self.fills:
            return as_returned(theirs.outputs)
        pairs = zip(theirs.outputs, ours.outputs, strict=True)
        return as_returned(tuple(written(*pair, theirs.profile) for pair in pairs))

    def launch_of_ours(self, inputs: tuple) -> ProfiledLaunch:
        """The course's kernel on the same inputs, launched once for all checks."""
        key = pickle.dumps(inputs)
        if key not in self.ours:
            setup = self.set_up(inputs)
            self.ours[key] = launched(as_kernel(self.kernel), setup, self.kernel, self.cause)
        return self.ours[key]

    def demand_low_cost(self, theirs: ProfiledLaunch, ours: ProfiledLaunch, inputs: tuple) -> None:
        """CostLimitExceeded where a limit of the exercise, or one of all exercises, is passed."""
        own = self.limit(theirs.profile, theirs.kernel, *inputs)
        if sentence := own or over_limit(theirs, ours, self.anywhere):
            raise CostLimitExceeded(f"The numbers are right, but {sentence}")

    def costs_of_largest(
        self, case_names: Sequence[str], counters: Sequence[str]
    ) -> list[tuple[str, Quantity]]:
        """Rows (label, quantity): what the learner's kernel cost where it had most to do."""
        first = self.theirs[: len(case_names) - 1] or self.theirs  # the last one repeats a shape
        work = [launch.counters["instructions"] for launch in first]
        largest = work.index(max(work))
        profile = first[largest].profile
        case = case_names[largest]
        return [(f"{case}: {name.replace('_', ' ')}", profile.quantity(name)) for name in counters]


def launched(
    compiled: Any, setup: LaunchSetup, kernel: Any, cause: Callable[..., str | None]
) -> ProfiledLaunch:
    """One launch under `profile`; Refused when it cannot be launched, or has a hazard.

    compiled is the kernel for the SIMT machine, kernel what its author handed in; cause that of
    `kernel_exercise`.
    """
    from labkit.gpu import profile
    from numba_simt.errors import KernelError

    try:
        found = profile(compiled, setup.grid, setup.block, *setup.arguments, steps=STEPS)
    except KernelError as error:
        raise Refused(f"The kernel cannot be launched: {error}") from None
    errors = [hazard for hazard in found.hazards if hazard.severity == "error"]
    if errors:
        first = errors[0]
        better = cause(found, first, *setup.arguments)
        raise Refused(f"{first.what} {better}" if better else first.sentence)
    return ProfiledLaunch(kernel, setup.arguments, setup.outputs, found)


def as_kernel(answer: Any) -> Any:
    """The learner's kernel for the SIMT machine, compiled once for all launches; or Refused."""
    from numba_simt.launching.dispatcher import DeviceFunction, Kernel, LaunchConfiguration

    if isinstance(answer, LaunchConfiguration):
        raise Refused("This is a launch: hand over the kernel itself, without [blocks, threads].")
    if type(answer) is DeviceFunction:
        raise Refused("This is a device function, for kernels to call: leave out device=True.")
    module = type(answer).__module__
    of_numba = module.startswith(("numba.", "numba_cuda."))
    on_a_gpu = of_numba and ".cuda" in module
    if of_numba and not on_a_gpu:
        raise Refused("This is compiled for the CPU: write `@cuda.jit` instead of `njit` or `jit`.")
    if type(answer) is not Kernel and not on_a_gpu:
        raise Refused("This is no kernel: write `@cuda.jit` in the line above its `def`.")
    return Kernel(answer.py_func)


def written(got: np.ndarray, expected: np.ndarray, profile: Any) -> np.ndarray:
    """`got` with 0 where nobody wrote; Refused if the kernel relied on what was there before."""
    unwritten = got == MARK
    if unwritten.all():
        return np.zeros_like(got)
    if np.allclose(got - MARK, expected, atol=1e-2) and not alike(got, expected):
        how = "`=` instead of `+=`"
        if profile.counters["atomics"]:
            how = "one thread that adds up in a variable, and then stores"
        raise Refused(
            "The kernel adds to what the output held before the launch, which nobody knows: use "
            f"{how}."
        )
    got = np.where(unwritten, np.float32(0), got)
    if unwritten.any() and alike(got, expected):
        first = list(map(int, np.argwhere(unwritten)[0]))
        raise Refused(
            f"Element {first} of the output was never written: it is right only if the memory held "
            "0 before the launch. Write every element, also where the result is 0."
        )
    return got


def alike(got: np.ndarray, expected: np.ndarray) -> bool:
    """Whether the numbers are right, so that only the cost may be wrong."""
    return np.allclose(got, expected, rtol=1e-3)


def unchanged(outputs: tuple[np.ndarray, ...], before: tuple[np.ndarray, ...]) -> bool:
    """Whether a kernel that works in place, on arrays that were not all 0, left them alone."""
    in_place = any(output.any() for output in before)
    return in_place and all(map(np.array_equal, outputs, before))


def as_returned(outputs: tuple) -> Any:
    """What a function of Python returns: one output alone, several as a tuple."""
    return outputs if len(outputs) > 1 else outputs[0]


def blocks(size: int, threads: int) -> int:
    """How many blocks (along one axis) give every element a thread."""
    return -(-size // threads)
