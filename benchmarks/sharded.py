"""How long one process takes to count the collectives of 1,024 pretended ranks: `make bench`.

    python benchmarks/sharded.py

Goals are in seconds, on an idle machine; what is counted is a test.
"""

from collections.abc import Callable, Iterator

import torch
from table import Row, report, seconds

from labkit.distributed.gpt.model import GPT, Config
from labkit_lessons.distributed.hybrid_and_sharded import pretended

RANKS = 1024
GOAL = 1.0  # seconds for each
CONFIG = Config(heads=8)


def rows() -> Iterator[Row]:
    tokens = torch.zeros(1, 64, dtype=torch.int64)
    ways: dict[str, Callable[[], object]] = {
        "data parallel": lambda: pretended.data_parallel(GPT(CONFIG), tokens),
        "data x tensor, 128 x 8": lambda: pretended.data_and_tensor(GPT(CONFIG), tokens, 128, 8),
        "FSDP2": lambda: pretended.sharded(GPT(CONFIG), tokens, RANKS),
        "copies x shards, 128 x 8": lambda: pretended.sharded(GPT(CONFIG), tokens, 128, 8),
    }
    torch.set_num_threads(1)  # on a busy machine, threads of one sum wait for each other
    with pretended.pretended(RANKS):
        pretended.data_parallel(GPT(CONFIG), tokens)  # the first backward loads what is needed
        for name, count in ways.items():
            yield Row(f"counting a step of 1,024 ranks: {name}", seconds(count), goal=GOAL)


if __name__ == "__main__":
    raise SystemExit(report("sharded", rows()))
