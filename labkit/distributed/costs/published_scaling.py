"""What others have published of large clusters, beside the step model and beside a constant.

    for result in published_results():
        result.name, result.published, result.predicted(), result.error()      # in percent
        result.constant(), result.constant_error()

The constant is what one knows without a model: that each GPU goes on as in the result that its
efficiency was fitted to, whatever the layout. None of the results that are compared was used to
find an efficiency: `fitted` marks the few that were, one for each machine and limit, and the tests
find each anew. All figures, with sources, with what was taken from them and what
we had to assume, stand in `published_scaling.toml`. Lesson a_cost_model.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from labkit.distributed.costs.clusters import Cluster, cluster
from labkit.distributed.costs.cost_model import CostModel
from labkit.distributed.costs.language_models import LanguageModel, language_model
from labkit.distributed.costs.layouts import Layout
from labkit.distributed.costs.memory_model import bytes_of_rank
from labkit.distributed.costs.step_model import StepTerms, predict_step
from labkit.distributed.sharded.memory import FLOAT32
from labkit.provenance import Quantity, predicted, published

UNITS = {"FLOP/s of a GPU": "FLOP/s", "B of a GPU": "B", "scaling efficiency": "of ideal"}
CLOSE = 20  # percent: what the course calls close
GIVEN = ("name", "kind", "quantity", "value", "source", "also", "assumed", "fitted")


@dataclass(frozen=True)
class PublishedResult:
    """One figure of others. `given` has what the prediction needs, by the names of the table."""

    key: str
    name: str
    kind: str
    quantity: str
    value: float
    source: str
    assumed: str
    given: dict
    fitted: bool = False

    @property
    def unit(self) -> str:
        """Of the value: FLOP/s, tokens/s of a GPU and the like."""
        return UNITS.get(self.quantity, self.quantity)

    @property
    def published(self) -> Quantity:
        """The value, with its source."""
        return published(self.value, self.unit, self.source)

    def predicted(self) -> Quantity:
        """The same by the step model."""
        return predicted(KINDS[self.kind](self.given, self.quantity), self.unit, "the step model")

    def terms(self) -> StepTerms:
        """The terms of its step; ValueError where it is no training of a language model."""
        if self.kind != "training":
            raise ValueError(f"{self.name}: only a training has the terms of a step.")
        return terms_of_training(self.given)

    def error(self) -> float:
        """How far the prediction is off, in percent of what was published."""
        return 100 * (float(self.predicted()) / self.value - 1)

    def constant(self) -> Quantity | None:
        """What follows if each GPU goes on as in the fitted result; None where that says nothing.

        A training does FLOPs at the fitted result's rate, also in other formats and layouts; n
        GPUs decode n times as fast, by the bytes of the weights; and images lose nothing.
        """
        say = CONSTANTS.get(self.kind)
        if say is None:
            return None
        return predicted(say(self.given, self.quantity), self.unit, "a constant")

    def constant_error(self) -> float | None:
        """How far the constant is off, in percent of what was published."""
        said = self.constant()
        return None if said is None else 100 * (float(said) / self.value - 1)


@cache
def published_results() -> tuple[PublishedResult, ...]:
    """All results of the table, in its order."""
    table = scaling_table()
    found = []
    for key, row in table["results"].items():
        sources = [cited(table["sources"][row[name]]) for name in ("source", "also") if name in row]
        given = {name: value for name, value in row.items() if name not in GIVEN}
        result = PublishedResult(
            key,
            row["name"],
            row["kind"],
            row["quantity"],
            row["value"],
            "; ".join(sources),
            row["assumed"],
            given,
            row.get("fitted", False),
        )
        found.append(result)
    return tuple(found)


def published_result(key: str) -> PublishedResult:
    """The one with this key; ValueError names them all."""
    for result in published_results():
        if result.key == key:
            return result
    known = ", ".join(result.key for result in published_results())
    raise ValueError(f"No published result {key!r}. There are: {known}.")


def cited(source: dict) -> str:
    """Title and address of one of the table's sources."""
    return f"{source['title']}, {source['url']}"


def summary(results: Iterable[PublishedResult]) -> tuple[list[str], list[list]]:
    """A table: mean errors of model and constant for each kind, without what was fitted to."""
    rows = []
    for kind in CONSTANTS:
        ones = [one for one in results if one.kind == kind and not one.fitted]
        if not ones:
            continue
        row = [kind, len(ones)]
        for errors in ([one.error() for one in ones], [one.constant_error() for one in ones]):
            off = [abs(error) for error in errors]
            row += [f"{sum(off) / len(off):.1f} %", sum(error <= CLOSE for error in off)]
        rows.append(row)
    each = ["model off by, mean", "within 20 %", "constant off by, mean", "within 20 %"]
    return ["", "results", *each], rows


def of_training(given: dict, quantity: str, efficiency: float | None = None) -> float:
    """FLOP/s or tokens/s of one accelerator in a training step."""
    terms = terms_of_training(given, efficiency)
    if quantity.startswith("FLOP/s"):
        return terms.flops / terms.seconds
    return terms.tokens_per_second / Layout(**given["layout"]).ranks


def terms_of_training(given: dict, efficiency: float | None = None) -> StepTerms:
    """The step model's terms of such a training."""
    return predict_step(
        sized_model(given["model"]),
        _cluster(given["cluster"], efficiency),
        Layout(**given["layout"]),
        given["sequence"],
        given.get("number_format", "bf16"),
    )


def of_decoding(given: dict, quantity: str, efficiency: float | None = None) -> float:
    """Tokens/s of one sequence: a token reads all weights, and is reduced twice in each layer."""
    del quantity
    model, here, ranks = sized_model(given["model"]), cluster(given["cluster"]), given["tensor"]
    share = efficiency or scaling_table()["reading"][given["cluster"]]["value"]
    reading = model.weight_bytes(2) / ranks / (share * float(here.machine.bandwidth))
    bytes = 2 * model.width
    ring = here.ring(ranks, message=bytes / ranks)
    return 1 / (reading + 2 * model.layers * ring.predict("ring_all_reduce", ranks, bytes))


def of_images(given: dict, quantity: str, efficiency: float | None = None) -> float:
    """The share of n times one accelerator's rate that n reach, with buckets during backward."""
    del quantity, efficiency
    computing = given["batch"] / given["images_per_second"]
    of_one = CostModel(cluster("a100").between.latency, given["card"] / given["per_node"])
    here = replace(cluster("a100"), per_node=given["per_node"], between=of_one, short=None)
    ring = here.ring(given["ranks"])  # one card for each node
    travelling = ring.predict("ring_all_reduce", given["ranks"], 4 * given["weights"])
    behind = 2 / 3 * computing * (1 - 1 / given["layers"])
    return computing / (computing + max(travelling - behind, 0.0))


def of_memory(given: dict, quantity: str, efficiency: float | None = None) -> float:
    """Bytes that a rank of ZeRO-3 saves, when there are more ranks."""
    del quantity, efficiency
    model = sized_model(given["model"])

    def needed(ranks: int) -> float:
        layout = Layout(data=ranks, stage=3)
        return bytes_of_rank(model, layout, sequence=1, each=FLOAT32).total

    return needed(given["fewer"]) - needed(given["more"])


KINDS: dict[str, Callable[..., float]] = {
    "training": of_training,
    "decoding": of_decoding,
    "images": of_images,
    "memory": of_memory,
}


def constant_training(given: dict, quantity: str) -> float:
    """FLOP/s of the fitted result, or the tokens/s of one accelerator that follow from them."""
    known = published_result(cluster(given["cluster"]).fitted)
    rate = known.value
    if not known.quantity.startswith("FLOP/s"):
        rate *= _flops_of_a_token(known.given)
    return rate if quantity.startswith("FLOP/s") else rate / _flops_of_a_token(given)


def _flops_of_a_token(given: dict) -> float:
    """Of all ranks together, recomputed ones included."""
    terms = terms_of_training(given)
    return terms.flops * Layout(**given["layout"]).ranks / terms.tokens


def constant_decoding(given: dict, quantity: str) -> float:
    """Tokens/s, if all of n GPUs read as fast as the fitted result's one, and wait for nothing."""
    del quantity
    known = published_result(scaling_table()["reading"][given["cluster"]]["fitted"])
    bytes_per_second = known.value * sized_model(known.given["model"]).weight_bytes(2)
    return given["tensor"] * bytes_per_second / sized_model(given["model"]).weight_bytes(2)


def constant_images(given: dict, quantity: str) -> float:
    """n accelerators are n times as fast."""
    del given, quantity
    return 1.0


CONSTANTS: dict[str, Callable[[dict, str], float]] = {
    "training": constant_training,
    "decoding": constant_decoding,
    "images": constant_images,
}


def _cluster(key: str, efficiency: float | None) -> Cluster:
    here = cluster(key)
    return here if efficiency is None else replace(here, efficiency=efficiency)


def sized_model(key: str) -> LanguageModel:
    """From this table's models, or from that of language_models."""
    row = scaling_table()["models"].get(key)
    if row is None:
        return language_model(key)
    gated = row.get("gated", False)
    return LanguageModel(
        key=key,
        name=key,
        layers=row["layers"],
        width=row["width"],
        heads=row["heads"],
        kv_heads=row.get("kv_heads", row["heads"]),
        head_width=row["width"] // row["heads"],
        mlp_width=row.get("mlp_width", 4 * row["width"]),
        gated=gated,
        vocabulary=row.get("vocabulary", 51_200),
        tied=not gated,
        biases=not gated,
        position_rows=0 if gated else 2_048,
        source="the paper of its results",
        published=int(row["published"]),
        exactly=False,
    )


@cache
def scaling_table() -> dict:
    """`published_scaling.toml`: sources, models, results and sweeps."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
