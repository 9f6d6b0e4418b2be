"""The timed rows of the report with their goals, read from goals.toml."""

import tomllib
from pathlib import Path
from typing import NamedTuple

KINDS = tomllib.loads(Path(__file__).with_name("goals.toml").read_text("utf-8"))
GOALS_FOR = "H200"  # on another GPU a goal is shown as what it is, an H200's


class Goal(NamedTuple):
    """One timed number: `goal` is the least that it may be, `aim` the wish."""

    kind: str
    what: str
    unit: str
    goal: float | None = None
    aim: float | None = None

    def reached(self, value: float) -> bool | None:
        """None where nothing was promised."""
        return None if self.goal is None else value >= self.goal

    def says(self, value: float, device: str) -> str:
        """The goal, and whether the value on this device reaches it, in a sentence."""
        if self.goal is None:
            return ""
        aim = "" if self.aim is None else f" (aim {self.aim:g})"
        how = "reached" if value >= self.goal else f"missed by {self.goal - value:.3g}"
        whose = "goal" if GOALS_FOR in device else f"an {GOALS_FOR}'s goal,"
        return f"{whose} {self.goal:g}{aim}: {how}"


GOALS = {
    f"{kind}: {what}": Goal(kind, what, about["unit"], *limits)
    for kind, about in KINDS.items()
    for what, limits in about["rows"].items()
}
