"""What is stored of the accelerator's synthesis. Made anew: test_accelerator_report_again.py."""

import json

import pytest

from labkit.fpga.convnet import accelerator_report
from labkit.fpga.convnet.accelerator_parameters import Folding
from labkit.fpga.convnet.accelerator_report import FOLDINGS, STORED, digest, multipliers_of, stored
from labkit.fpga.convnet.budget import RESOURCES
from labkit.fpga.errors import RTLError

every_folding = pytest.mark.parametrize("folding", FOLDINGS, ids=str)


@every_folding
def test_it_is_of_todays_sources_and_fits(folding):
    report = stored(folding)
    assert report.fits
    assert all(0 < report.share(resource) <= 1 for resource in RESOURCES)
    assert {getattr(report, resource).word for resource in RESOURCES} == {"compiled"}


@every_folding
def test_every_multiplier_is_there(folding):
    """Those of the formula, and in each lane of a requantisation two more, each in a DSP."""
    report = stored(folding)
    at_once = multipliers_of(folding)
    requantised = folding.conv1 + folding.conv2 + 1
    assert len(report.multipliers.left) == at_once + 2 * requantised
    assert float(report.dsp) == at_once + 2 * requantised


def test_multipliers_by_the_knobs():
    assert multipliers_of(Folding(conv1=1, conv2=1, fc1=8)) == 27 + 72 + 8 + 8
    assert multipliers_of(Folding(conv1=2, conv2=4, fc1=16)) == 2 * 27 + 4 * 72 + 16 + 8


def test_resident_weights_fill_the_block_rams():
    """Half a megabyte of them; the other foldings take few."""
    streamed, resident = stored(FOLDINGS[0]), stored(FOLDINGS[-1])
    assert resident.share("bram36") > 0.9 > 0.3 > streamed.share("bram36")


def test_a_report_of_other_sources_is_refused(monkeypatch):
    real = accelerator_report.read_sources

    def edited(files, top):
        sources = real(files, top)
        changed = tuple((name, text.replace("+ 1'b1", "+ 1'b0")) for name, text in sources.files)
        return type(sources)(changed, sources.top)

    monkeypatch.setattr(accelerator_report, "read_sources", edited)
    with pytest.raises(RTLError, match=r"other sources .* python tools/accelerator_report\.py"):
        stored(FOLDINGS[0])


def test_a_comment_changes_nothing(monkeypatch):
    before = digest(FOLDINGS[0])
    real = accelerator_report.read_sources

    def commented(files, top):
        sources = real(files, top)
        changed = tuple((name, f"// Words.\n\n{text}") for name, text in sources.files)
        return type(sources)(changed, sources.top)

    monkeypatch.setattr(accelerator_report, "read_sources", commented)
    assert digest(FOLDINGS[0]) == before


def test_each_folding_has_a_digest_of_its_own():
    assert len({digest(folding) for folding in FOLDINGS}) == len(FOLDINGS)


def test_a_folding_without_a_report_is_refused():
    with pytest.raises(RTLError, match=r"No report of .*conv1=4.* is stored, only of"):
        stored(Folding(conv1=4))


def test_what_differs_is_named(tmp_path):
    reports = json.loads(STORED.read_text("utf-8"))
    path = tmp_path / "reports.json"
    accelerator_report.write(reports, path)
    assert path.read_bytes() == STORED.read_bytes()
    assert not accelerator_report.differences(reports[0], path)
    other = reports[0] | {"cells": {}}
    assert accelerator_report.differences(other, path) == ["cells"]
    assert accelerator_report.differences(other | {"folding": {}}, path) == ["folding"]
