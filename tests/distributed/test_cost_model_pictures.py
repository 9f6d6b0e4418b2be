"""The pictures say the model's numbers."""

import pytest

from labkit.distributed.clusters import cluster
from labkit.distributed.cost_model_pictures import published_picture, terms_picture
from labkit.distributed.language_models import language_model
from labkit.distributed.layouts import Layout
from labkit.distributed.published_scaling import published_results
from labkit.distributed.step_model import predict_step


def test_a_step_by_its_parts(capsys):
    model = language_model("llama31_70b")
    steps = {}
    for name, layout in {"near": Layout(tensor=8), "far": Layout(tensor=64)}.items():
        steps[name] = predict_step(model, cluster("h100"), layout, 8192)
    terms_picture(steps)
    said = capsys.readouterr().out
    assert f"near: {steps['near'].seconds:.3g} s, most of it compute" in said
    assert f"far: {steps['far'].seconds:.3g} s, most of it tensor" in said


def test_published_results_are_all_there(capsys):
    results = published_results()
    published_picture(results)
    said = capsys.readouterr().out
    others = [result for result in results if not result.fitted]
    close = sum(abs(result.error()) <= 20 for result in others)
    assert f"Errors of {len(results)} predictions; of the {len(others)}" in said
    assert f"{close} are within 20 %" in said


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="no steps"):
        terms_picture({})
    with pytest.raises(ValueError, match="no results"):
        published_picture([])
