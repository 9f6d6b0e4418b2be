"""The picture says the model's numbers."""

import pytest

from labkit.distributed.costs.published_scaling import published_results
from labkit_lessons.distributed.a_cost_model.pictures import published_picture


def test_published_results_are_all_there(capsys):
    results = published_results()
    published_picture(results)
    said = capsys.readouterr().out
    others = [result for result in results if not result.fitted]
    close = sum(abs(result.error()) <= 20 for result in others)
    assert f"Errors of {len(results)} predictions; of the {len(others)}" in said
    assert f"{close} are within 20 %" in said


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="no results"):
        published_picture([])
