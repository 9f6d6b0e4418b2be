"""Where the files of a lesson lie, by the room of its exercises and its plain name."""

from pathlib import Path

from labkit.course.config import Config


def exercises(room: str, config: Config) -> Path:
    """The folder of a room's exercises."""
    return config.course_root() / "labkit" / room / "exercises"


def solutions(room: str, lesson: str, config: Config) -> Path:
    """The module of a lesson's solutions."""
    return exercises(room, config) / "solutions" / f"{lesson}.py"


def files(room: str, lesson: str, config: Config) -> list[Path]:
    """What belongs to a lesson beside its source: exercises, texts, planted answers, its test."""
    tests = config.course_root() / "tests"
    return [
        exercises(room, config) / f"{lesson}.py",
        exercises(room, config) / f"{lesson}.toml",
        tests / "exercises" / "planted" / f"{lesson}.py",
        tests / "notebooks" / f"test_{lesson}.py",
    ]
