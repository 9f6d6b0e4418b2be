"""This lesson: the numbers of its text, and that what it prints follows what its ranks do."""

import re

import pytest
from torch import nn

from labkit import convnet
from labkit.distributed.gradients import overlap
from labkit.distributed.gradients.buckets import assign
from tests.notebooks.running import Run

ORDER, CHECKED, NORMS = "in the model:", "within 0.000001", "gradients_of_shards, 4"
UNEVEN, READY, STEPS = "train_unevenly, 2", "readiness_picture(ready", "runs = measure_steps"
TABLE, TRIAL = "figures.guesses", "no_sync()"


@pytest.fixture(scope="module")
def lesson():
    return Run("04_distributed", "4_overlap_and_buckets")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def test_the_exercises_are_solved(lesson):
    for name in ("buckets", "overlapped", "accumulate"):
        assert "is solved" in printed(lesson, f'check("distributed.{name}"')


def test_the_sums_by_hand():
    four = overlap.Work(layers=4, bytes=180_000, seconds=25e-3, latency=4e-3, bandwidth=10e6)
    sixteen = overlap.Work(layers=16, bytes=45_000, seconds=6.25e-3, latency=4e-3, bandwidth=10e6)
    alone = overlap.predict(four, 2, 180_000)
    ends = [round(1e3 * span.end) for span in alone.travel]
    begins = [round(1e3 * span.begin) for span in alone.travel]
    assert (begins, ends) == ([25, 51, 77, 103], [51, 77, 103, 129])
    assert [round(1e3 * span.end) for span in alone.layers] == [25, 50, 75, 100]
    cases = [(four, 720_000, 180), (four, 360_000, 144), (four, 180_000, 129)]
    for work, most, ms in [*cases, (sixteen, 45_000, 206)]:
        assert round(1e3 * overlap.predict(work, 2, most).seconds) == ms
    assert 8 + 4 * 18 == 80 and 4 * 26 - 80 == 24 and 180 - 129 == 51
    assert 6.25 + 16 * (8 + 18 / 4) == 206.25
    assert max(100 + 26, 25 + 4 * 26) == 129
    assert 100 - 25 == 75 and 75 - 24 == 51  # the link works from 25 ms on without a pause


def test_the_small_examples():
    assert assign([4, 8, 8, 2], 10) == [[3, 2], [1], [0]]
    assert (2 + 4) / 2 == 3 and (6 + 12) / 2 == 9 and (3 + 9) / 2 == (2 + 4 + 6 + 12) / 4 == 6
    sizes = {name: weight.nbytes for name, weight in convnet.load_weights().items()}
    assert len(sizes) == 8 and round(100 * sizes["fc1.weight"] / sum(sizes.values())) == 96
    assert round(sizes["fc1.weight"] / 1e6, 1) == 2.1  # S bytes: a ring of two sends 2 x S / 2
    assert round(sizes["fc1.weight"] / 10e6, 2) == 0.21
    ends = [20 + 30 * k for k in (1, 2, 3)]  # the quiz
    assert ends[-1] == 110 and ends[0] >= 40 and ends[1] >= 60


def test_what_torch_says_of_its_buckets():
    import torch.distributed as dist
    from torch.nn.parallel import distributed

    assert dist._DEFAULT_FIRST_BUCKET_BYTES == 1 << 20
    assert distributed._DEFAULT_BUCKET_CAP_MB == 25


def test_the_order_of_the_gradients(lesson):
    said = printed(lesson, ORDER).splitlines()
    model, ready = (line.split(":")[1].split() for line in said)
    assert model == list(convnet.SHAPES) and sorted(ready) == sorted(model)
    layers = list(dict.fromkeys(name.split(".")[0] for name in ready))
    assert layers == ["fc2", "fc1", "conv2", "conv1"]
    assert ready.index("conv2.weight") < ready.index("conv2.bias")


def test_ours_is_ddp_and_one_process(lesson):
    assert printed(lesson, CHECKED).count("True") == 2
    name = lesson.cell(CHECKED)

    class Alone(nn.Module):
        def __init__(self, net):
            super().__init__()
            self.net = net
            self.finish = lambda: None

        def forward(self, x):
            return self.net(x)

    broken = name.replace("import DataParallel\n", "import DataParallel\n\nDataParallel = Alone\n")
    broken = broken.replace('"DDP": launch(train, 2, DDP), ', "")  # which takes seconds to load
    said = lesson.execute(broken, lesson.before[name] | {"Alone": Alone})
    assert said == "as one process, within 0.000001: False\n"


def test_only_batch_norm_differs(lesson):
    said = printed(lesson, NORMS)
    rows = [re.split(r"  +", line.strip()) for line in said.splitlines()]
    rows = {row[0]: row[1] for row in rows if len(row) == 2}
    assert rows["without BatchNorm"] == rows["with synchronised BatchNorm"] == "below 0.01 %"
    assert float(rows["with BatchNorm"].split()[0]) >= 5


def test_uneven_batches(lesson):
    said = printed(lesson, UNEVEN)
    assert "batches: 3 and 5" in said and "the same weights: True" in said
    code = lesson.cell(UNEVEN)
    apart = code.replace("model.join()", "model.no_sync()").replace(
        "            model.finish()\n", ""
    )
    said = lesson.execute(apart, dict(lesson.before[code]))
    assert "the same weights: False" in said


@pytest.mark.night(instead="chapters/04_distributed/4_overlap_and_buckets.ipynb")
def test_the_measured_steps_follow_the_learners_function(lesson):
    runs = lesson.namespace["runs"]
    assert [len(run.travel) for run in runs.values()] == [1, 1, 2, 4, 16]
    _, names = lesson.again(STEPS, overlapped=lesson.namespace["after_backward"])
    late = names["runs"]["4 buckets"]
    assert late.travel[0].begin >= late.layers[-1].end


def test_no_guess_is_scored_by_a_measured_time(lesson):
    """The share by hand: multiply-adds of one image, twice for a layer with a gradient of its x."""
    results = lesson.namespace["results"]
    assert {quantity.word for quantity in results.values()} == {"counted", "predicted"}
    linear = 2 * (128 * 10 + 4096 * 128)
    convolutions = 2 * 64 * 32 * 9 * 16 * 16 + 32 * 3 * 9 * 32 * 32
    share = 100 * linear / (linear + convolutions)
    assert float(results["fc1.weight is ready"]) == pytest.approx(share, rel=0.01)
    assert round(share) == 9
    assert float(results["one bucket"]) == 1
    assert set(lesson.namespace["by_hand"]) == set(lesson.namespace["runs"])


def test_the_speed_that_fc1_needs_comes_from_the_variable(lesson):
    said, names = lesson.again(READY)
    seconds = names["whole"] - names["moments"]["fc1.weight"]
    assert names["needed"] == 4096 * 128 * 4 / seconds
    assert f"{names['needed'] / 1e6:.3g} MB/s" in said


def test_the_gradients_meet_in_the_backward(lesson):
    said = printed(lesson, TRIAL)
    assert "after backward(): True" in said and "within no_sync(): False" in said
