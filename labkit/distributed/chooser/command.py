"""The command `labkit choose`: from its options to a workload, and the answer printed.

labkit choose serve --model llama31_8b --format bf16 --batch 8 --context 4096 --ms 20
labkit choose train --model llama31_8b --tokens 1e9 --hours 24 --usd 1000
labkit choose image --format int8 --ms 1
"""

import argparse
import json
from collections.abc import Callable
from typing import Any

from labkit.distributed.chooser import images, pictures, serving, training
from labkit.distributed.chooser.answer import choose
from labkit.distributed.chooser.changes import changes
from labkit.distributed.chooser.formulas import as_dict, formulas, say
from labkit.distributed.chooser.limits import Limits
from labkit.distributed.chooser.models import longest, lookup, model_of, own_model
from labkit.distributed.chooser.offers import offered
from labkit.distributed.chooser.report import show
from labkit.distributed.chooser.workload import HOUR, Workload, above_zero
from labkit.distributed.costs.language_models import LanguageModel
from labkit.hardware import Machine

SHAPE = ("layers", "width", "heads", "kv_heads", "mlp_width", "vocabulary")
OWN = (*SHAPE, "parameters")
CONVNET = "convnet"
CONTEXT = 2048  # tokens, or as many as the model can have
TASKS: dict[str, tuple[str, ...]] = {  # which options a task understands
    "serve": ("model", *OWN, "batch", "context", "weights", "cache", "prompt", "rate", "ms"),
    "train": ("model", *OWN, "batch", "context", "tokens", "images", "hours"),
    "image": ("model", "ms"),
}
SERVED = ("weights", "cache", "prompt", "rate")
LANGUAGE_ONLY = ("context", "tokens", *OWN)


def run(options: argparse.Namespace) -> int:
    """Answers; ValueError for what cannot be, a sentence each."""
    _demand_understood(options)
    make, arguments = _request(options)
    limits = _limits(options)
    among = _among(options)
    answer = choose(make(**arguments), limits, among)
    chosen = answer.cheapest or answer.fastest
    if options.formulas:
        answer.row(options.formulas)
    if options.plot:
        pictures.save(answer, options.plot)
    if options.json:
        print(json.dumps(as_dict(answer), indent=2))
        return 0
    show(answer)
    if chosen:
        print()
        for sentence in changes(make, arguments, limits, among):
            say(sentence)
    if options.formulas is not None and (options.formulas or chosen):
        print()
        formulas(answer, options.formulas or chosen.machine.key)
    return 0


def _among(options: argparse.Namespace) -> list[Machine] | None:
    """Those that were named, with your own prices and machines; None: all of the table."""
    names = None
    if options.machines is not None:
        names = [key.strip() for key in options.machines.split(",")]
    prices = [text.strip() for given in options.price for text in given.split(",")]
    return offered(names, prices, options.machine)


def _demand_understood(options: argparse.Namespace) -> None:
    """Raises ValueError for an option that says nothing about this task."""
    for task, names in TASKS.items():
        for name in names:
            if getattr(options, name) is not None and name not in TASKS[options.task]:
                raise ValueError(f"--{name.replace('_', '-')} is for {task}, not {options.task}.")


def _request(options: argparse.Namespace) -> tuple[Callable[..., Workload], dict[str, Any]]:
    """The function that makes the workload, and its arguments."""
    is_convnet = options.model == CONVNET or options.task == "image"
    if options.model not in (None, CONVNET) and options.task == "image":
        raise ValueError(f"One image goes through the ConvNet, not through {options.model!r}.")
    given = _given(options, ("batch", "context", "tokens", "images", *SERVED))
    if options.format is not None:
        given["number_format"] = options.format
    if not is_convnet:
        if "images" in given:
            raise ValueError("--images is for --model convnet; a language model has --tokens.")
        make = serving.serve if options.task == "serve" else training.train
        model = lookup(_model(options))
        return make, {"model": model, "context": min(CONTEXT, longest(model)), **given}
    for name in LANGUAGE_ONLY:
        if getattr(options, name) is not None:
            raise ValueError(f"--{name.replace('_', '-')} is for language models.")
    if options.task == "serve":
        raise ValueError("The ConvNet has no tokens to serve: choose image.")
    return (images.image if options.task == "image" else images.train_convnet), given


def _model(options: argparse.Namespace) -> LanguageModel | str:
    """A model of the table, or one of the learner's own sizes."""
    own = _given(options, OWN)
    if options.model is not None:
        if own:
            raise ValueError("Give --model or sizes of your own, not both.")
        return options.model
    if "parameters" in own:
        if len(own) > 1:
            raise ValueError("Give --parameters alone, or --layers and --width.")
        return model_of(own["parameters"])
    if "layers" not in own or "width" not in own:
        raise ValueError("Which model? Give --model, or --parameters, or --layers and --width.")
    return own_model(**own)


def _limits(options: argparse.Namespace) -> Limits:
    """Milliseconds or hours, USD, how many machines, the efficiency and the share of memory.

    Without an efficiency, what others reached.
    """
    given = {"efficiency": None} | _given(options, ("usd", "most", "efficiency", "memory"))
    if options.ms is not None:
        given["seconds"] = above_zero("The time limit in ms", options.ms) / 1000
    if options.hours is not None:
        given["seconds"] = above_zero("The time limit in hours", options.hours) * HOUR
    return Limits(**given)


def _given(options: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    """What was given of these options."""
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}
