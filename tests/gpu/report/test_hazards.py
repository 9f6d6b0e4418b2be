"""Who finds which mistake: planted kernels on the SIMT machine, and a faked compute-sanitizer."""

import pytest

from labkit.gpu.report import timing
from labkit.gpu.report.rows import NotHere
from labkit.gpu.report.sections import hazards, planted, sanitizer
from labkit.gpu.report.tasks import Bench
from tests.gpu.report import fakes

BENCH = Bench(timing.Host(), dry=True)


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """tools(finds): the section's rows under a compute-sanitizer that finds finds[tool]."""

    def rows(finds, script='cat "{folder}/$2"'):
        fakes.compute_sanitizer(tmp_path, finds, script)
        monkeypatch.setenv("PATH", fakes.on_the_path(tmp_path))
        return {name.split(":")[0]: work() for name, work in hazards.work(BENCH, {})}

    return rows


@pytest.mark.parametrize("one", planted.PLANTED, ids=lambda one: one.name)
def test_the_machine_finds_what_is_stated(one):
    assert hazards.of_the_machine(one) == one.kinds
    agree = bool(one.kinds) == bool(one.tools)
    assert agree or one.rule, "where the two differ, the rule is stated"
    assert one.mistake.endswith(".")


def test_each_tool_has_a_mistake_to_find_and_one_kernel_is_right():
    assert {tool for one in planted.PLANTED for tool in one.tools} == {*sanitizer.TOOLS}
    assert any(not one.kinds and not one.tools for one in planted.PLANTED)


def test_tools_that_find_what_they_should(tools):
    found = tools({})
    assert all(row.ok is True for row in found.values()), found
    said = found["read_too_early"].says
    assert said == ("SIMT machine: race, uninitialised. racecheck: Race reported. The two agree")
    assert found["block_sum"].says == (
        "SIMT machine: nothing. compute-sanitizer: nothing. The two agree"
    )
    assert "memcheck: Invalid __global__ read of size 4 bytes" in found["beyond_the_array"].says
    assert found["added_by_all"].says.endswith(planted.SHARED_ALONE)
    assert float(found["added_by_all"].numbers["result"]) == 0


def test_what_tools_print_is_taken_apart():
    printed = """\
========= COMPUTE-SANITIZER
LAUNCH added_by_all
ENDED added_by_all
LAUNCH barrier_in_one_warp
========= Warning: Race reported between Read access at added_by_all(Array)+0x1b0 in x.py:3
=========     and Write access at added_by_all(Array)+0x200 in x.py:4 [64 hazards]
=========
ENDED barrier_in_one_warp
STOPPED barrier_in_half_a_warp: CudaAPIError
========= Invalid __shared__ write of size 4 bytes
=========     at cudapy::beyond_the_tile[abi:v2](Array<float>)+0x1f0
=========     by thread (63,0,0) in block (0,0,0)
LAUNCH beyond_the_tile
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure"
=========     at beyond_the_tile
========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)
"""
    found = sanitizer.read(printed)
    assert found.findings == {
        "added_by_all": "Race reported",
        "beyond_the_tile": "Invalid __shared__ write of size 4 bytes",
    }
    assert found.launched == {"added_by_all", "barrier_in_one_warp", "beyond_the_tile"}
    assert found.ended == {"added_by_all", "barrier_in_one_warp"}
    assert found.stopped == {"barrier_in_half_a_warp"}


def test_a_tool_that_finds_more_or_less_is_not_hidden(tools):
    found = tools({"racecheck": {"block_sum"}})
    assert found["block_sum"].ok is False
    assert "racecheck: Race reported. NOT AS STATED: no tool" in found["block_sum"].says
    assert found["read_too_early"].ok is False
    assert "NOT AS STATED: racecheck should speak" in found["read_too_early"].says
    assert found["beyond_the_array"].ok is True


def test_a_kernel_that_a_tool_did_not_come_to_is_named(tools):
    found = tools({}, 'sed "/beyond_the_tile/d" "{folder}/$2"')
    assert found["beyond_the_tile"].ok is None
    assert "memcheck did not come to it" in found["beyond_the_tile"].says
    assert found["beyond_the_array"].ok is True


def test_a_launch_that_was_stopped_without_a_word_is_named(tools):
    stop = "s/^ENDED {{one}}/STOPPED {{one}}: CudaAPIError/"
    script = f'sed "{stop}" "{{folder}}/$2"'
    found = tools({}, script.replace("{{one}}", "written_too_early"))
    said = found["written_too_early"].says
    assert found["written_too_early"].ok is None
    assert "memcheck says nothing, and the launch was stopped" in said
    found = tools({}, script.replace("{{one}}", "beyond_the_tile"))
    assert found["beyond_the_tile"].ok is True  # a GPU may stop it, whoever watches
    assert "racecheck says nothing, and the launch was stopped" in found["beyond_the_tile"].says


def test_behind_a_launch_that_was_the_last_another_program_goes_on(tools, tmp_path):
    script = """\
tool=$2
while [ "$1" != -m ]; do shift; done
echo "$tool $3" >> "{folder}/asked"
echo ========= COMPUTE-SANITIZER
sed -n "/^LAUNCH $3/,/^ENDED $3/p" "{folder}/$tool" | sed 's/^ENDED barrier.*//; s/^ENDED/STOPPED/'
[ "$3" = block_sum ] && echo ENDED block_sum
exit 0"""
    found = tools({}, script)
    asked = (tmp_path / "asked").read_text().splitlines()
    assert len(asked) == len(sanitizer.TOOLS) * len(planted.PLANTED)
    assert found["barrier_in_one_warp"].ok is True
    said = found["barrier_in_one_warp"].says
    assert "synccheck: Barrier error detected" in said
    assert "racecheck says nothing, and the launch never ended" in said
    assert found["beyond_the_array"].ok is True
    assert found["read_too_early"].ok is None  # of whose end nobody should doubt


def test_a_device_that_no_tool_can_watch(tools):
    script = 'sed -n "s/^ENDED/STOPPED/; /^=* COMP/p; /^LAUNCH/p; /^STOPPED/p" "{folder}/$2"'
    found = tools({}, script)
    assert all(row.ok is None for row in found.values())
    assert "memcheck gave no answer (it could watch no launch" in found["read_too_early"].says


def test_a_tool_that_says_nothing_is_named_and_the_others_speak(tools):
    script = 'if [ "$2" = memcheck ]; then echo "no device"; else cat "{folder}/$2"; fi'
    found = tools({}, script)
    assert found["read_too_early"].ok is None
    said = found["read_too_early"].says
    assert "racecheck: Race reported" in said and "memcheck gave no answer" in said


def test_without_the_program_the_rows_are_not_there(monkeypatch):
    def nowhere(name, path=None):
        return None

    monkeypatch.setattr("shutil.which", nowhere)
    for _, work in hazards.work(BENCH, {}):
        with pytest.raises(NotHere, match="compute-sanitizer is not here"):
            work()


def test_what_the_tools_watch_launches_up_to_the_first_that_is_stopped(capsys, monkeypatch):
    watches = []
    monkeypatch.setattr("faulthandler.dump_traceback_later", lambda s, exit: watches.append(exit))
    monkeypatch.setattr("faulthandler.cancel_dump_traceback_later", lambda: watches.append(False))
    left = [one.name for one in planted.PLANTED]
    stopped = []
    while left:
        planted.launch(left)
        found = sanitizer.read(capsys.readouterr().out)
        assert found.launched == {*left[: len(found.launched)]} and not found.stuck
        stopped += found.stopped
        assert not found.stopped or left[len(found.launched) - 1] in found.stopped
        left = left[len(found.launched) :]
    assert {"beyond_the_array", "four_from_an_odd_place"} <= {*stopped}
    assert watches == [True, False] * len(planted.PLANTED)
