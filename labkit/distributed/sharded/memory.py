"""ZeRO's memory table: bytes that a rank keeps for the weights it trains, by formula.

    bytes_of_state(830_208, ranks=4, stage=3).total          # a quarter of 16 bytes a weight

For each weight, training in float32 with AdamW keeps 16 bytes:

    the weight 4      its gradient 4      AdamW's two moments 4 + 4

With mixed precision it is 16 as well: weight and gradient in half precision 2 + 2, and in float32
a copy of the weight and the two moments, 4 + 4 + 4 (Rajbhandari et al. 2020, arXiv:1910.02054,
section 3.1). Each stage of ZeRO divides one more of the three kinds by the number of ranks n:

    stage   weights   gradients   moments
    0       4         4           8
    1       4         4           8/n
    2       4         4/n         8/n
    3       4/n       4/n         8/n

What is not in the table: activations, and what is whole for a moment. In stage 3 that is one
unit's weights, and in stages 2 and 3 its gradients.
"""

from dataclasses import dataclass

KINDS = ("weights", "gradients", "moments")
CUT_FROM = {"weights": 3, "gradients": 2, "moments": 1}  # the first stage that cuts a kind
FLOAT32 = {"weights": 4, "gradients": 4, "moments": 8}
MIXED = {"weights": 2, "gradients": 2, "moments": 12}  # with the copy of the weights


@dataclass(frozen=True)
class State:
    """Bytes in one rank, by kind."""

    weights: float
    gradients: float
    moments: float

    @property
    def total(self) -> float:
        """Of all three kinds."""
        return self.weights + self.gradients + self.moments


def bytes_of_state(
    weights: int, ranks: int, stage: int, each: dict[str, int] | None = None
) -> State:
    """What a rank keeps when all gradients are there and the optimizer has not begun.

    weights   how many there are in the model
    each      bytes for each weight, by kind: FLOAT32 (the default) or MIXED

    Raises ValueError for a stage other than 0 to 3, for numbers that are not whole or below 1, and
    for bytes of other kinds.
    """
    if stage not in (0, 1, 2, 3):
        raise ValueError(f"ZeRO has the stages 0, 1, 2 and 3, not {stage!r}.")
    if any(not isinstance(number, int) or number < 1 for number in (weights, ranks)):
        raise ValueError(f"{weights} weights on {ranks} ranks; both are whole, and at least 1.")
    each = each or FLOAT32
    if set(each) != set(KINDS):
        raise ValueError(f"Bytes are given for {', '.join(KINDS)}, not for {', '.join(each)}.")
    found = {}
    for kind, size in each.items():
        share = ranks if stage >= CUT_FROM[kind] else 1
        found[kind] = size * weights / share
    return State(**found)
