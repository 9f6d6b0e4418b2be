"""Published figures beside the chooser: sizes as published, and none that cannot be."""

from labkit.distributed.chooser.fits import fit
from labkit.distributed.chooser.limits import Limits
from labkit.distributed.chooser.serving import serve
from labkit.distributed.chooser.training import train
from labkit.distributed.costs.language_models import language_model
from labkit.hardware import machine
from labkit_lessons.distributed.choosing_hardware.published import (
    GPU_HOURS,
    MOST,
    TOKENS_PER_SECOND,
    TRAINING_BATCH,
    TRAINING_CONTEXT,
    TRAINING_TOKENS,
    llama2_70b,
    token_rates,
    training_hours,
)


def test_llama_2_70b_has_as_many_parameters_as_published():
    model = llama2_70b()
    assert model.parameters == model.published == 68_976_648_192


def test_what_ran_out_of_memory_does_not_fit():
    rows = token_rates()
    assert len(rows) == len(TOKENS_PER_SECOND)
    for row, rate in zip(rows, TOKENS_PER_SECOND.values(), strict=True):
        assert (row[2] is None) == (rate is None)
        if rate is not None:
            assert float(row[3]) == rate and row[4] == rate / float(row[2])
            assert row[2].word == "predicted" and row[3].word == "published"
    found = fit(serve(llama2_70b(), context=100), machine("a100"), Limits())
    assert found.plan.count == 2, "and on two it was measured"


def test_trainings_cannot_be_faster_than_their_arithmetic():
    assert [row[2] for row in training_hours()] == [3, 4, 4], "the two larger ones recompute"
    for row, (key, hours) in zip(training_hours(), GPU_HOURS.items(), strict=True):
        least = 6 * language_model(key).matmul_parameters * 15e12 / 989.4e12 / 3600
        assert least < float(row[3]) < float(row[4]) == hours


def test_no_training_of_metas_fills_a_card():
    """Without headroom, a layout of 79.8 of 80 GB was offered for the 70B."""
    h100 = machine("h100")
    for key in GPU_HOURS:
        workload = train(key, "bf16", TRAINING_TOKENS, TRAINING_BATCH, TRAINING_CONTEXT)
        plan = fit(workload, h100, Limits(most=MOST)).plan
        assert plan.memory.value <= 0.9 * float(h100.memory)
