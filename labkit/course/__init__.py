"""The course room: how lessons are built, checked, verified, copied for the learner and opened."""

import tomllib
from pathlib import Path

TEXTS = tomllib.loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))


class CourseError(Exception):
    """Something in the course is wrong; the message is a sentence: what, where, what to do."""
