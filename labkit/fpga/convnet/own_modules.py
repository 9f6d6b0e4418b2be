"""The learner's own modules in the accelerator: which there are, and how each one gets in.

    designs.convnet(own={"requantize": text})

A module whose ports are those of the course's takes its place. The others are smaller than what
the network needs, so an adapter in `rtl/own` makes a part of the network out of their copies. The
learner's text stays as it is: what is changed is the name of the part where the network uses it,
and those of helpers in the text, such as a `memory` that another text may have, too. Lesson
the_network_on_the_board.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from labkit.checks.items import Exercise, Refused, Unsolved
from labkit.checks.registry import registry
from labkit.fpga.errors import RTLError
from labkit.fpga.judging.given_modules import COLUMN_COUNTER, course_module
from labkit.fpga.library import library
from labkit.fpga.sources import RTL, modules, with_support

TOP = "accelerator"


@dataclass(frozen=True)
class OwnModule:
    """A module of the learner's that the network can be made of.

    lesson    which asks for it
    exercise  its id
    work      what it does in the network
    adapter   the module of `rtl/own` that has copies of it; None where it fits as it is
    """

    lesson: int
    exercise: str
    work: str
    adapter: str | None = None


OWN_MODULES = {
    "mac": OwnModule(2, "fpga.mac", "multiplies and sums in conv1 and conv2", "own_mac_array"),
    "mac_array": OwnModule(
        2, "fpga.mac_array", "hands each mac its pair of numbers", "own_mac_array"
    ),
    "requantize": OwnModule(
        2, "fpga.requantize_rtl", "ends conv1, conv2 and fc1", "own_requantize"
    ),
    "line_buffer": OwnModule(3, "fpga.line_buffer", "keeps a row for conv1 and conv2"),
    "window_control": OwnModule(3, "fpga.window_control", "says when a window is complete"),
    "register_stage": OwnModule(
        4, "fpga.register_stage", "hands fc1 a value", "own_fully_connected"
    ),
    "queue": OwnModule(
        4,
        "fpga.find_the_bug",
        "keeps values for fc1, behind the queue of 512",
        "own_fully_connected",
    ),
    "columns": OwnModule(5, "fpga.columns", "multiplies and sums in fc1", "own_fully_connected"),
}
# Where the network uses a part of the course's that an adapter has the ports of.
USES = {
    "own_mac_array": {"conv3x3": "mac_array"},
    "own_requantize": {"conv_layer": "requantize", "convnet": "requantize"},
    "own_fully_connected": {"convnet": "fully_connected"},
}


def with_own(own: Mapping[str, str]) -> list[Path | str]:
    """The accelerator's files with the modules `own`, name -> text, in their places.

    An adapter that lacks one of its modules takes the course's own answer for it.

    Raises RTLError for a name that is not in OWN_MODULES, and for a text that cannot be read or has
    other ports than the exercise asks for.
    """
    for name, text in own.items():
        _refuse_unfit(name, text)
    adapters = {OWN_MODULES[name].adapter for name in own} - {None}
    texts = _with_ours(own, adapters)
    parts = _of_the_course(adapters, texts)
    if "columns" in texts:
        parts += with_support(texts["columns"], [COLUMN_COUNTER])[1:]
    return parts + [_helpers_renamed(name, text) for name, text in texts.items()]


def blamed(error: RTLError, own: Mapping[str, str]) -> RTLError:
    """The error of a tool, with the learner's module that it is about; or as it is."""
    for name, text in own.items():
        first = modules(_helpers_renamed(name, text))[0]
        if str(error).startswith(f"{first}.sv, line "):  # so `Sources` names a text
            said = str(error)
            for module in modules(text):
                said = said.replace(f"{module}_of_{name}", module)
            return RTLError(f"{_yours(name)} is refused: {said}", error.line)
    return error


def _with_ours(own: Mapping[str, str], adapters: set[str | None]) -> dict[str, str]:
    """The texts `own`, and the course's answers that the adapters need beside them."""
    texts = dict(own)
    for name, module in OWN_MODULES.items():
        if module.adapter in adapters:
            texts.setdefault(name, course_module(module.exercise))
    if "mac" in modules(texts.get("mac_array", "")):  # it brings one of its own
        del texts["mac"]
    return texts


def _of_the_course(adapters: set[str], texts: Mapping[str, str]) -> list[Path | str]:
    """The accelerator's files that no text replaces, and the adapters, which need no others."""
    renamed: dict[str, dict[str, str]] = {}  # file -> {name in it: name of the adapter}
    for adapter in adapters:
        for file, name in USES[adapter].items():
            renamed.setdefault(file, {})[name] = adapter
    parts: list[Path | str] = []
    for path in library(TOP):
        if path.stem in renamed:
            parts.append(_renamed(path, renamed[path.stem]))
        elif path.stem not in texts:
            parts.append(path)
    return parts + [RTL / "own" / f"{adapter}.sv" for adapter in sorted(adapters)]


def _renamed(path: Path, names: Mapping[str, str]) -> str:
    """One of the course's files, where an adapter is used in place of a part."""
    text = path.read_text("utf-8")
    for name, adapter in names.items():
        text = re.sub(rf"\b{name}(?= #\()", adapter, text)
    return text


def _helpers_renamed(name: str, text: str) -> str:
    """A learner's text in which the modules beside `name` have names that no other text has."""
    names = {module: f"{module}_of_{name}" for module in modules(text) if module != name}
    return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), text)


def _refuse_unfit(name: str, text: str) -> None:
    if name not in OWN_MODULES:
        raise RTLError(
            f"The network has no place for a module {name!r} of your own; it has one for "
            f"{', '.join(OWN_MODULES)}."
        )
    exercise = registry().find(OWN_MODULES[name].exercise, Exercise)
    if text == exercise.fallback:
        return
    try:
        exercise.adapter(text)  # looks at the ports, and runs nothing
    except Unsolved:  # the module that the lesson gives has the ports
        return
    except Refused as error:
        raise RTLError(f"{_yours(name)} does not fit into the network: {error}") from None


def _yours(name: str) -> str:
    return f"Your module {name} (lesson {OWN_MODULES[name].lesson})"
