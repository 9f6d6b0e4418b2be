"""What others have published of one model in many layouts, beside the step model.

    for sweep in published_sweeps():
        sweep.layouts, sweep.seconds, sweep.predicted()        # one model, one batch, many layouts

A sweep asks what no constant knows: which of the layouts is fastest, and which run out of memory.
Sources and layouts stand in `published_scaling.toml`. Lesson a_cost_model.
"""

from dataclasses import dataclass
from functools import cache

from labkit.distributed.costs.clusters import cluster
from labkit.distributed.costs.layouts import Layout
from labkit.distributed.costs.memory_model import bytes_of_rank
from labkit.distributed.costs.published_scaling import cited, scaling_table, sized_model
from labkit.distributed.costs.step_model import predict_step


@dataclass(frozen=True)
class PublishedSweep:
    """One model on the same GPUs, with the same batch, in many layouts.

    layouts, seconds   those that ran, and what a step took
    failed             those that ran out of memory
    """

    key: str
    name: str
    source: str
    layouts: tuple[Layout, ...]
    seconds: tuple[float, ...]
    failed: tuple[Layout, ...]
    given: dict

    def predicted(self) -> list[float]:
        """Seconds of a step by the step model, in the order of `layouts`."""
        model, here = sized_model(self.given["model"]), cluster(self.given["cluster"])
        sequence = self.given["sequence"]
        return [predict_step(model, here, one, sequence).seconds for one in self.layouts]

    def bytes(self, layout: Layout) -> float:
        """What the rank that needs most needs in such a layout, by the memory model."""
        return bytes_of_rank(sized_model(self.given["model"]), layout, self.given["sequence"]).total


@cache
def published_sweeps() -> tuple[PublishedSweep, ...]:
    """All sweeps of the table, in its order."""
    table = scaling_table()
    found = []
    for key, row in table["sweeps"].items():
        sweep = PublishedSweep(
            key=key,
            name=row["name"],
            source=cited(table["sources"][row["source"]]),
            layouts=tuple(_layout(row, *sides[:3]) for sides in row["layouts"]),
            seconds=tuple(sides[3] for sides in row["layouts"]),
            failed=tuple(_layout(row, *sides) for sides in row["failed"]),
            given=row,
        )
        found.append(sweep)
    return tuple(found)


def _layout(row: dict, sequences: int, tensor: int, pipeline: int) -> Layout:
    """One layout of a sweep: the other ranks are data ranks, and the batch is cut evenly."""
    data = row["gpus"] // (tensor * pipeline)
    return Layout(
        data=data,
        tensor=tensor,
        pipeline=pipeline,
        micro_batches=row["batch"] // (data * sequences),
        sequences=sequences,
        stage=1,
        overlap=False,
    )
