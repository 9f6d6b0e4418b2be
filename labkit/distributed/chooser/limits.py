"""What a request allows: seconds, money, how many machines; and what of them it counts on."""

from dataclasses import dataclass

from labkit.distributed.chooser.workload import Plan, Workload, above_zero
from labkit.distributed.costs.inference_costs import MEMORY_SHARE
from labkit.errors import whole
from labkit.hardware import Machine


@dataclass(frozen=True)
class Limits:
    """Nonsense raises ValueError, a sentence each.

    seconds      of a step, or of a whole training; None: as long as it takes
    usd          for a million tokens or images, or a whole training; None: whatever it costs
    most         how many machines at most
    efficiency   the share of peak and bandwidth that is reached: 1 is a best case, no estimate;
                 None is what others reached in such a task (`Workload.efficiency` has its
                 source). In the training of a language model, of the peak alone
    memory       the share of a machine's memory that the task may take. The driver keeps some of
                 the rest, and a runtime's buffers take some: vLLM, too, leaves a tenth unless told
                 otherwise (`gpu_memory_utilization`; 8 % in its newest versions)
    """

    seconds: float | None = None
    usd: float | None = None
    most: int = 8
    efficiency: float | None = 1.0
    memory: float = MEMORY_SHARE

    def __post_init__(self) -> None:
        if self.seconds is not None:
            above_zero("The time limit", self.seconds)
        if self.usd is not None:
            above_zero("The budget", self.usd)
        whole("most", self.most)
        for name in ("efficiency", "memory"):
            share = getattr(self, name)
            if share is None and name == "efficiency":
                continue
            if not 0 < above_zero(name, share) <= 1:
                raise ValueError(f"{name} is a share from 0 to 1, not {share!r}.")

    def share(self, workload: Workload, machine: Machine) -> float:
        """The efficiency that is counted on for this machine."""
        return workload.efficiency(machine).share if self.efficiency is None else self.efficiency

    def holds_time(self, workload: Workload, plan: Plan) -> bool:
        """Whether a plan is fast enough."""
        if self.seconds is None:
            return True
        steps = workload.timed.value if workload.timed else 1
        return plan.seconds.value * steps <= self.seconds
