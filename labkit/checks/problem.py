"""A `Problem`: what is wrong with an answer, in sentences."""

from dataclasses import dataclass

from labkit.checks.render import Code


@dataclass(frozen=True)
class Problem:
    """What is wrong, in sentences.

    kind      "stub" (nothing is there yet); "raised", "shape", "nan", "value" (a misconception may
              explain it); "later" (right, but not under other conditions); "cost" (right, but too
              dear); "refused" by an adapter; "unjudged" (a tool could say nothing of it); "form"
              for the rest
    headline  a sentence; of a stub, the part of one that follows a colon
    details   what follows it, paragraph by paragraph
    output    the position of the output it is about, where it is about one
    index     of the first wrong element, where single elements are wrong
    of_case   whether it is about the case that it shows in
    """

    kind: str
    headline: str
    details: tuple[str | Code, ...] = ()
    output: int | None = None
    index: tuple[int, ...] | None = None
    of_case: bool = True
