"""tools/cluster/shaped_links.py: both files say the same, and what is missing is a sentence."""

import sys
import tomllib
from pathlib import Path

import pytest

from labkit.distributed import LaunchError
from labkit.distributed.costs.cost_model import CostModel
from labkit.distributed.links import switched_hosts
from labkit.distributed.links.link_predictions import Compared

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "cluster"))
import shaped_links

sys.path.pop(0)

LINKS = [
    ("shaped and relayed", 2, CostModel(0.0201, 12.4e6), [Compared("ring 9", 0.1, 0.10573)]),
    ("loopback", 2, CostModel(0.0, 9e8), [Compared("pipeline", 0.60001, 0.3)]),
]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(switched_hosts, "missing", lambda: None)
    return ["--page", str(tmp_path / "page.md"), "--figures", str(tmp_path / "figures.toml")]


def test_both_files_say_the_same(files, monkeypatch, tmp_path):
    monkeypatch.setattr(shaped_links, "all_links", lambda: LINKS)
    assert shaped_links.main(files) == 0
    page = (tmp_path / "page.md").read_text()
    table = tomllib.loads((tmp_path / "figures.toml").read_text())
    assert "| shaped and relayed | 2 | ring 9 | 100.00 | 105.73 | +5.7 % |" in page
    assert "| loopback | 2 | pipeline | 600.01 | 300.00 | -50.0 % |" in page
    assert "| shaped and relayed | 2 | 20.10 ms | 12.40 MB/s |" in page
    assert [link["kind"] for link in table["links"]] == ["shaped and relayed", "loopback"]
    assert table["links"][0]["trials"] == [
        {"name": "ring 9", "predicted": 0.1, "measured": 0.10573}
    ]
    assert "{" not in page


def test_every_link_is_run_and_predicted_from_its_pings(monkeypatch):
    """Seconds as the formulas have them, with the pings of another link: nothing is left out."""
    asked = []

    def seconds_on(kind, ranks):
        asked.append((kind, ranks))
        pings = {f"ping {size}": 0.5 + size / 1e6 for size in (1_000, 100_000)}
        given = shaped_links.GIVEN
        return pings | shaped_links.predict_trials(CostModel(0.5, 1e6), ranks, given, True), True

    monkeypatch.setattr(shaped_links, "seconds_on", seconds_on)
    links = shaped_links.all_links()
    assert asked == [(kind, ranks) for kind, ranks, _, _ in links] == list(shaped_links.LINKS)
    for _, _, model, rows in links:
        assert model.latency == pytest.approx(0.5) and model.bandwidth == pytest.approx(1e6)
        assert rows and all(abs(row.error) < 0.01 for row in rows)


def test_what_is_missing_is_told(files, monkeypatch, capsys):
    monkeypatch.setattr(switched_hosts, "missing", lambda: "It takes CAP_NET_ADMIN.")
    for words in (files, ["--check"]):
        assert shaped_links.main(words) == 2
        assert "shaped_links: It takes CAP_NET_ADMIN." in capsys.readouterr().err
    assert not Path(files[1]).exists()


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [(LaunchError("no cable"), 2, "no cable"), (KeyboardInterrupt(), 130, "the hosts are gone")],
)
def test_an_end_before_the_page_is_told(files, monkeypatch, capsys, error, code, says):
    def all_links():
        raise error

    monkeypatch.setattr(shaped_links, "all_links", all_links)
    assert shaped_links.main(files) == code
    assert says in capsys.readouterr().err
    assert not Path(files[1]).exists()


def test_it_can_be_asked_whether_it_could(files, capsys):
    assert shaped_links.main(["--check"]) == 0
    assert "can be shaped" in capsys.readouterr().out
