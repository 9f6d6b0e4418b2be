"""The picture of costs says the model's numbers."""

from labkit.distributed.costs.cost_model import CostModel
from labkit_lessons.distributed.the_ring.cost_picture import costs_by_size


def test_what_it_says(capsys):
    names = {"tree": "tree_all_reduce", "ring": "ring_all_reduce"}
    costs_by_size(CostModel(1e-3, 100e6), names, ranks=(4, 1024), mark=8e6)
    said = capsys.readouterr().out
    assert "At 8 MB: 4 ranks: tree 324 ms, ring 126 ms" in said
    assert "1,024 ranks: tree 1.62 s, ring 2.21 s" in said
