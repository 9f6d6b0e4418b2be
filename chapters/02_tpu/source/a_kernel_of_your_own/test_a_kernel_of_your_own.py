"""Lesson 02_tpu/6: its numbers follow the learner's functions."""

import pytest

from tests.notebooks.running import Run


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "6_a_kernel_of_your_own")


# TO WRITE: a test for each number that the lesson prints, and that it changes with the answer.
def test_the_answer_is_printed(lesson):
    assert "2. 4. 6." in lesson.printed[lesson.cell("twice 1, 2, 3")].replace("  ", " ")
