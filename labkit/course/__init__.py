"""The course room: how lessons are built, checked, verified, copied for the learner and opened."""


class CourseError(Exception):
    """Something in the course is wrong; the message is a sentence: what, where, what to do."""
