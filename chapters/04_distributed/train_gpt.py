"""Data parallel training of the small GPT that survives the death of a rank.

    torchrun --standalone --nproc-per-node=2 --max-restarts=3 \\
        train_gpt.py --folder saved --steps 100 --every 20

Every `--every` steps it writes a checkpoint into the folder; started again, by torchrun after a
death or by hand, it goes on from the newest one. In PyTorch 2.13, set the variable
TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1, or restarts fail at times. With `--die-at` or `--die-seed`,
one rank kills itself in the first attempt. With `--events`, each rank writes event files: show
them by `python -m labkit.distributed.monitoring saved/events`.
"""

import argparse
import os
from pathlib import Path

from labkit.distributed import launch
from labkit.distributed.checkpoints.run import Orders, run
from labkit.distributed.checkpoints.training import Options
from labkit.distributed.parameter_server.checkpoint import CheckpointError
from labkit.distributed.step_log import LogError, done_twice, read_steps


def main() -> None:
    """The command line; rank 0 prints."""
    parser = argparse.ArgumentParser(description="Train the small GPT, and survive.")
    parser.add_argument("--folder", type=Path, required=True, help="for checkpoints and logs")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--every", type=int, default=10, help="steps between checkpoints")
    parser.add_argument("--sequences", type=int, default=8, help="per step, over all ranks")
    parser.add_argument("--background", action="store_true", help="save while training goes on")
    parser.add_argument("--events", action="store_true", help="write event files")
    parser.add_argument("--fall-back", action="store_true", help="pass over a damaged checkpoint")
    parser.add_argument("--die-at", type=int, help="the step in which rank --die-rank dies")
    parser.add_argument("--die-rank", type=int, default=0)
    parser.add_argument("--die-seed", type=int, help="die in a step and rank drawn from this")
    chosen = parser.parse_args()
    ranks = int(os.environ.get("WORLD_SIZE", 2))  # torchrun says how many there are
    names = ("folder", "steps", "every", "background", "events", "fall_back", "die_at", "die_rank")
    given = {name: getattr(chosen, name) for name in names}
    try:
        orders = Orders(**given, options=Options(sequences=chosen.sequences))
        if chosen.die_seed is not None:
            orders = orders.with_a_death(chosen.die_seed, ranks)
        outcome = launch(run, ranks, orders, timeout=3600)[0]
    except (CheckpointError, ValueError) as error:
        raise SystemExit(f"train_gpt.py: {error}") from None
    if os.environ.get("RANK", "0") != "0":
        return
    if outcome.note:
        print(outcome.note)
    print(f"went on from step {outcome.resumed_at}, done up to step {orders.steps}")
    print("steps done twice:", steps_done_twice(orders.log))
    print("weights:", outcome.weights)


def steps_done_twice(log: Path) -> str:
    """A list, or what is wrong with the log: the training is whole without it."""
    try:
        return str(done_twice(read_steps(log)))
    except LogError as error:
        return f"not known. {error}"


if __name__ == "__main__":
    main()
