"""The table of clusters: every figure has a source, and a ring gets the link that it crosses."""

import tomllib
from pathlib import Path

import pytest

from labkit.distributed.costs import clusters
from labkit.distributed.costs.clusters import Cluster, cluster
from labkit.distributed.costs.cost_model import CostModel
from labkit.distributed.costs.language_models import language_model
from labkit.distributed.costs.layouts import Layout
from labkit.distributed.costs.step_model import predict_step

TABLE = tomllib.loads(Path(clusters.__file__).with_suffix(".toml").read_text("utf-8"))


def test_every_figure_has_a_source_that_was_read_or_is_called_an_assumption():
    for row in TABLE["clusters"].values():
        for part in ("within", "between", "efficiency"):
            for name in row[part]["sources"]:
                source = TABLE["sources"][name]
                assert name == "assumed" or (source["url"] and source["checked"])


def test_every_efficiency_is_fitted_to_one_result_or_assumed():
    for key, row in TABLE["clusters"].items():
        efficiency = row["efficiency"]
        assert ("fitted" in efficiency) == (efficiency["sources"] != ["assumed"])
        assert cluster(key).fitted == efficiency.get("fitted")
        assert 0 < cluster(key).efficiency < 1
        assert cluster(key).sources


def test_links_are_those_of_the_sources():
    """NVLink's sums of both directions, halved; bits per second, divided by 8."""
    assert cluster("a100").within.bandwidth == 600e9 / 2
    assert cluster("h100").within.bandwidth == 900e9 / 2
    assert cluster("b200").within.bandwidth == 1800e9 / 2
    assert cluster("a100").between.bandwidth == 200e9 / 8
    assert cluster("h100").between.bandwidth == 400e9 / 8
    assert cluster("tpu_v5e").within.bandwidth == 51.2e12 / 256
    assert cluster("tpu_v6e").within.bandwidth == 102.4e12 / 256
    assert cluster("tpu_v5e").between.bandwidth == 2 * 100e9 / 8 / 8
    assert cluster("tpu_v6e").between.bandwidth == 4 * 200e9 / 8 / 8


@pytest.mark.parametrize(
    "ranks, stride, cards", [(8, 1, 0), (16, 1, 8), (8, 8, 1), (4, 2, 0), (8, 4, 2), (5, 3, 2)]
)
def test_a_ring_has_the_cards_of_its_ranks_in_a_node(ranks, stride, cards):
    """`cards` of a node of 8: 0 where the group does not leave it."""
    h100 = cluster("h100")
    ring = h100.ring(ranks, stride)
    if cards == 0:
        assert ring == h100.within == h100.link(ranks, stride)
    else:
        assert ring.bandwidth == min(cards * 50e9, 450e9)
        assert h100.between.latency >= ring.latency > h100.within.latency
        assert h100.link(ranks, stride) == h100.between


@pytest.mark.parametrize("nodes", [1, 2, 4, 16])
@pytest.mark.parametrize("bytes", [8_192, 1 << 20, 1 << 30])
def test_a_ring_of_gpus_has_the_latency_of_nccls_own_model(nodes, bytes):
    """v2.10.3: (nsteps - nInterSteps) intraLat + nInterSteps interLat, by LL or by Simple."""
    ranks = 8 * nodes
    steps, between = 2 * (ranks - 1), 2 * (nodes - 1)
    cards = 450e9 if nodes == 1 else min(8 * 50e9, 450e9)
    seconds = []
    for intra, inter, share in ((0.47e-6, 2.7e-6, 1 / 4), (3.4e-6, 9.6e-6, 1)):
        latency = (steps - between) * intra + between * inter
        seconds.append(latency + steps / ranks * bytes / (share * cards))
    ring = cluster("h100").ring(ranks, message=bytes / ranks)
    assert ring.predict("ring_all_reduce", ranks, bytes) == pytest.approx(min(seconds))
    assert (seconds[0] < seconds[1]) == (bytes < 1 << 30)


@pytest.mark.parametrize(
    ("keys", "long", "short"),
    [
        (("a100", "h100", "h200", "b200"), 3.4e-6, 0.47e-6),
        (("l4", "l40s", "rtx_4090", "rtx_5090"), 5.7e-6, 1.0e-6),
    ],
)
def test_the_latencies_are_those_of_nccls_table(keys, long, short):
    """v2.10.3, hwLat, Ring, Simple and LL: over NVLink or PCIe, and 9.6 and 2.7 over a network."""
    for key in keys:
        here = cluster(key)
        assert (here.within.latency, here.between.latency) == (long, 9.6e-6)
        assert [link.latency for link in here.short] == [short, 2.7e-6]


def test_a_cluster_of_one_link_has_one_way_for_all_messages():
    link = CostModel(1e-3, 1e6)
    here = Cluster.on_link(link, "t4", efficiency=0.4)
    assert here.ring(8, message=1) == here.ring(8) == link


def test_rates_and_unknown_names():
    assert cluster("a100").rate() == pytest.approx(312e12 * cluster("a100").efficiency)
    assert cluster("t4_ethernet").rate() == pytest.approx(0.4 * 65e12)  # a T4 has no bf16
    assert cluster("h100").rate("fp8") == pytest.approx(2 * cluster("h100").rate(), rel=1e-3)
    with pytest.raises(ValueError, match="Did you mean 'h100'"):
        cluster("h10")
    with pytest.raises(ValueError, match="no peak rate in 'fp8'"):
        cluster("a100").rate("fp8")


def test_a_fitted_link_predicts_a_whole_step():
    """Pings of 20 ms and 10 MB/s; GPT-2's gradients in a ring of four T4s, nothing hidden."""
    link = CostModel.fit([(1e3, 0.0201), (1e6, 0.12), (1e7, 1.02)])
    here = Cluster.on_link(link, "t4", efficiency=0.4)
    gpt2 = language_model("gpt2")
    terms = predict_step(gpt2, here, Layout(data=4, overlap=False), 1024)
    chunk = 2 * gpt2.parameters / 4
    assert terms.data == pytest.approx(2 * 3 * (link.latency + chunk / link.bandwidth))
    assert terms.compute == pytest.approx(3 * gpt2.forward_flops(1024) / (0.4 * 65e12))
    assert here.ring(4) == here.link(4, stride=8) == link
    with pytest.raises(ValueError, match="share of the peak"):
        Cluster.on_link(link, "t4", efficiency=1.5)
    with pytest.raises(ValueError, match="No machine"):
        Cluster.on_link(link, "t5", efficiency=0.5)


def test_groups_that_cannot_be_are_told():
    for ranks, stride in ((0, 1), (8, 0), (8, -2)):
        with pytest.raises(ValueError, match="ranks and a stride from 1 on"):
            cluster("h100").ring(ranks, stride)
    with pytest.raises(ValueError, match="share of the peak, 0 to 1, not 'half'"):
        Cluster.on_link(CostModel(0, 1e9), "t4", "half")
