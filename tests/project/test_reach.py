"""labkit is what two lessons share: what one lesson alone reaches belongs into its folder.

A module is reached by whoever imports it, by name or by string, at any remove. Besides the lessons
these are the tools, and the commands: labkit's own, what runs by `python -m`, scripts of chapters.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from labkit.course.catalogue import sources
from labkit.course.config import config
from tests.project.test_floors import ROOT, imported, named, tree_of

# Modules that stay although fewer than two lessons reach them.
STAY: dict[str, str] = {
    "labkit.course.contents": "Jupyter's server, which labkit/course/lab.py starts, loads it",
    "labkit.distributed.costs.published_scaling": "benchmarks and chooser tests compare with it",
    "labkit.fpga.convnet.published": "the prose of lesson video_in_video_out has figures of it",
}


def dotted(path: Path) -> str:
    """The name of a module of labkit: labkit/tpu/hlo.py -> "labkit.tpu.hlo"."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def homes(modules: Mapping[str, Path]) -> dict[str, str]:
    """The names that packages hand out late: "labkit.tpu.strategy" -> "labkit.tpu.device"."""
    found = {}
    for package, path in modules.items():
        text = path.read_text("utf-8") if path.name == "__init__.py" else ""
        for name, home in re.findall(r'^    "(\w+)": "([\w.]+)",$', text, re.MULTILINE):
            full = home if home.startswith("labkit.") else f"{package}.{home}"
            found[f"{package}.{name}"] = full
    return found


class Reach:
    """Which module imports which; from there, who reaches a module at any remove."""

    def __init__(self, modules: Mapping[str, Path]) -> None:
        self.modules = modules
        self.homes = homes(modules)
        self.imports = {name: self.used_by(path) for name, path in modules.items()}

    def used_by(self, path: Path) -> set[str]:
        """The modules that the code of a file names."""
        tree = tree_of(path)
        return {self.home(name) for name in imported(tree) | named(tree)} - {""}

    def home(self, name: str) -> str:
        """The module that a dotted name lies in; "" for none of labkit's."""
        name = self.homes.get(name, name)
        while name and name not in self.modules:
            name = name.rpartition(".")[0]
        return name if name != "labkit" else ""

    def from_files(self, paths: list[Path]) -> set[str]:
        """All modules that these files are or reach."""
        found: set[str] = set()
        own = {name for name, path in self.modules.items() if path in paths}
        more = own.union(*map(self.used_by, paths))
        while more:
            found |= more
            more = set().union(*(self.imports[name] for name in more)) - found
        return found


def lessons() -> dict[str, list[Path]]:
    """The files of each lesson, planted answers and tests apart, by its plain name."""
    found = {}
    for source in sources(config(ROOT)):
        files = source.parent.rglob("*.py")
        found[source.parent.name] = [path for path in files if is_shipped(path)]
    return found


def is_shipped(path: Path) -> bool:
    """Whether a module of a lesson's folder is more than a proof of it."""
    return path.name != "planted.py" and not path.name.startswith("test_")


def commands() -> list[Path]:
    """What is started by itself: labkit's commands, what Jupyter loads, scripts, tools."""
    found = [
        *ROOT.glob("tools/*.py"),
        *ROOT.glob("tools/cluster/*.py"),
        *ROOT.glob("chapters/*/*.py"),
    ]
    found += [ROOT / "labkit" / "__main__.py", *ROOT.glob("labkit/course/jupyter/*.py")]
    for path in ROOT.glob("labkit/**/*.py"):
        if path.name == "__main__.py" and path.parent.name != "labkit":
            found += path.parent.rglob("*.py")  # a report's sections are started by their names
        elif 'if __name__ == "__main__"' in path.read_text("utf-8"):
            found.append(path)
    return found


def lone(
    modules: Iterable[str], by_lesson: Mapping[str, set[str]], by_commands: set[str]
) -> dict[str, list[str]]:
    """The modules that no command reaches, and fewer than two lessons: with those that do."""
    found = {}
    for name in modules:
        users = [lesson for lesson, reached in by_lesson.items() if name in reached]
        if len(users) < 2 and name not in by_commands:
            found[name] = users
    return found


def refusals(found: Mapping[str, list[str]]) -> list[str]:
    """A sentence for each lone module that has no reason to stay, and for each idle reason."""
    said = [f"{name} is not in STAY for a reason any more." for name in STAY.keys() - found.keys()]
    for name, users in found.items():
        if users and name not in STAY:
            said.append(f"{name} is reached by one lesson alone: move it to source/{users[0]}/.")
        elif name not in STAY:
            said.append(f"{name} is reached by no lesson, command or tool: delete it.")
    return said


@pytest.fixture(scope="module")
def lone_modules() -> dict[str, list[str]]:
    """The lone modules of labkit."""
    paths = {dotted(path): path for path in ROOT.glob("labkit/**/*.py")}
    reach = Reach(paths)
    by_lesson = {name: reach.from_files(files) for name, files in lessons().items()}
    modules = [name for name, path in paths.items() if path.name != "__init__.py"]
    return lone(modules, by_lesson, reach.from_files(commands()))


def test_no_module_serves_one_lesson_alone(lone_modules):
    assert refusals(lone_modules) == []


def test_the_rule_names_the_folder_to_which_a_module_belongs():
    by_lesson = {"tiles": {"labkit.gpu.a", "labkit.gpu.b"}, "training": {"labkit.gpu.b"}}
    modules = [f"labkit.gpu.{letter}" for letter in "abcd"]
    found = lone(modules, by_lesson, by_commands={"labkit.gpu.c"})
    assert found == {"labkit.gpu.a": ["tiles"], "labkit.gpu.d": []}
    said = " ".join(refusals(found))
    assert "labkit.gpu.a is reached by one lesson alone: move it to source/tiles/." in said
    assert "labkit.gpu.d is reached by no lesson, command or tool: delete it." in said
