"""What lesson restarts_and_monitoring prints follows from what it computes."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from labkit import check
from labkit.course.config import config
from labkit.course.source.lesson import load
from labkit.distributed.step_log import Done
from labkit_lessons.distributed.restarts_and_monitoring import solutions
from labkit_lessons.distributed.restarts_and_monitoring.by_hand import share
from labkit_lessons.distributed.restarts_and_monitoring.killed_disk import Disk
from tests.no_namespaces import forbid
from tests.notebooks.running import Run

CHAPTER = config().course_root() / "chapters" / "04_distributed"
NAME = "12_restarts_and_monitoring"


@pytest.fixture(scope="module")
def lesson():
    return Run("04_distributed", NAME)


def feedback(capsys):
    """What the check has said, in one line without backticks."""
    return " ".join(capsys.readouterr().out.replace("`", "").split())


def test_the_broken_training_is_compared_with_the_unbroken_one(lesson):
    printed = lesson.printed[lesson.cell("restarted(")]
    assert "36 steps computed; twice: [17, 18, 19, 20, 21, 22]" in printed
    assert "all losses as without a death: True" in printed
    assert "all weights, to the last bit: True" in printed
    assert "checkpoints kept: ['step-00016', 'step-00024']" in printed


@pytest.mark.night(
    instead="chapters/04_distributed/source/restarts_and_monitoring/test_elastic.py::test_where_torchrun_may_start_it_does"
)
def test_where_no_network_can_be_closed_the_lesson_goes_on(tmp_path, monkeypatch):
    forbid(tmp_path, monkeypatch)
    lesson = Run("04_distributed", NAME)
    assert "So the program starts its ranks itself" in lesson.printed[lesson.cell("restarted(")]
    test_the_broken_training_is_compared_with_the_unbroken_one(lesson)
    test_the_steps_computed_are_counted_in_the_log(lesson)
    printed = lesson.printed[lesson.cell("visitor.get(")]
    assert printed.startswith("This was not run here. ") and "stranger's" not in printed
    test_nothing_is_left(lesson)


def test_another_training_would_be_told_apart(lesson, monkeypatch):
    words = "restarted("
    monkeypatch.setattr(
        "labkit_lessons.distributed.restarts_and_monitoring.elastic.restarted",
        lambda *_, **__: "weights: 0",
    )
    done = iter([[Done(0, 1, 2.5)], [Done(0, 1, 2.75)]])
    monkeypatch.setattr("labkit.distributed.step_log.read_steps", lambda path: next(done))
    other = [SimpleNamespace(weights="another hash")]
    said, names = lesson.again(words, launch=lambda *_: other)
    assert "all losses as without a death: False" in said
    assert "all weights, to the last bit: False" in said
    names["room"].cleanup()


def test_the_learners_function_reads_the_shards(lesson):
    words = "write_shard("
    printed = lesson.printed[lesson.cell(words)]
    right, tensors = re.search(r"(\d+) of (\d+) tensors are right", printed).groups()
    rows, read = re.search(r"rows: (\d+) and read: (\d+)", printed).groups()
    assert right == tensors and int(tensors) > 30 and rows == read


def test_the_example_of_ten_rows():
    assert [share(10, 4, rank) for rank in range(4)] == [(0, 3), (3, 6), (6, 8), (8, 10)]
    assert share(10, 2, 1) == (5, 10)
    asked = []

    class File(list):
        def read(self, begin, end):
            asked.append((self[0], begin, end))
            return np.array(self[begin:end])

    files = [File([0, 1, 2]), File([3, 4, 5]), File([6, 7]), File([8, 9])]
    assert solutions.reshard(files, 2, 1).tolist() == [5, 6, 7, 8, 9]
    assert asked == [(3, 2, 3), (6, 0, 2), (8, 0, 2)]


@pytest.mark.parametrize(
    ("begin_end", "says"),
    [
        (lambda low, high: (low, max(low, high - 1)), "Of each file, the last row that is wanted"),
        (lambda low, high: (low, low + 9), "a part may end behind it, in another file"),
        (lambda low, high: (low + 9, low + 9), "no row is asked for"),
        (lambda low, high: (low, high - low), "and no count"),
        (lambda low, high: (low - 9, high), "counted from its own first one"),
    ],
)
def test_a_wrong_read_is_told_its_cause(begin_end, says, capsys):
    def reshard(files, ranks, rank):
        begin, end = share(sum(len(file) for file in files), ranks, rank)
        parts, first = [], 0
        for file in files:
            low, high = max(begin - first, 0), min(end - first, len(file))
            if low < high:
                parts.append(file.read(*begin_end(low, high)))
            first += len(file)
        return np.concatenate(parts)

    check("distributed.reshard", reshard)
    assert says in feedback(capsys)


def test_a_marker_must_not_be_deleted_nor_be_there_already(capsys):
    def save(disk, name, shards, at_last):
        for rank, shard in enumerate(shards):
            disk.write(f"{name}/{rank}", shard)
            disk.sync(f"{name}/{rank}")
        disk.write("latest.new", name)
        disk.sync("latest.new")
        at_last(disk)

    def deletes_first(disk, name, shards):
        def at_last(disk):
            disk.delete("latest")
            disk.rename("latest.new", "latest")

        save(disk, name, shards, at_last)

    def deletes_an_older_one(disk, name, shards):
        def at_last(disk):
            disk.rename("latest.new", "latest")
            disk.delete("step-10/0" if name == "step-20" else "step-00/0")

        save(disk, name, shards, at_last)

    check("distributed.save_whole", deletes_first)
    said = feedback(capsys)
    assert (
        "is lost in operation 8, rename latest.new to latest, and then there is no latest" in said
    )
    check("distributed.save_whole", deletes_an_older_one)
    said = feedback(capsys)
    assert "At the first save, on an empty disk: The disk has no file 'step-00/0'" in said


def test_the_example_of_an_array_that_is_no_copy():
    w = np.array([3.0])
    saved, copied = {"weights": w}, {"weights": w.copy()}
    w -= 1.0
    assert saved["weights"] == [2.0] and copied["weights"] == [3.0]


def test_the_operations_of_the_solution():
    disk = Disk()
    solutions.save_whole(disk, "step-20", [np.ones(2)] * 2)
    assert disk.operations[-1] == "rename latest.new to latest"
    assert disk.operations[:2] == ["write step-20/0", "sync step-20/0"]


def test_what_is_forgotten_comes_from_trainings(lesson):
    differences = lesson.namespace["differences"]
    averages, position = differences["Adam's averages"], differences["the position"]
    assert averages[0] == 0, "the first loss is that of the same weights"
    assert round(max(averages)) == 2 and max(abs(averages)) < 3
    assert max(position) > 5 and min(position) < -3, "both ways"
    assert float(lesson.namespace["results"]["without averages"]) == 2
    unbroken = lesson.namespace["unbroken"]
    assert np.abs(100 * np.diff(unbroken) / unbroken[1:]).mean() > 2, "it changes by more by itself"


def test_the_steps_computed_are_counted_in_the_log(lesson):
    assert float(lesson.namespace["results"]["steps computed"]) == 36
    _, names = lesson.again("figures.guesses([(name", done=[1, 2])
    assert float(names["results"]["steps computed"]) == 2


def test_the_stranger_prints_and_is_refused(lesson):
    lines = lesson.printed[lesson.cell("class Stranger")].splitlines()
    printed = "  this line was printed by the file"
    assert lines[0] == "torch.load(weights_only=False):" and lines[1] == printed
    assert lines[2] == "torch.load(weights_only=True): Weights only load failed"
    assert lines[3:] == ["the .metadata of DCP:", printed]


def test_the_store_is_open_and_then_closed(lesson):
    printed = lesson.printed[lesson.cell("visitor.get(")]
    assert "a visitor reads step-00024 and writes" in printed
    assert "the store now says a stranger's" in printed
    assert "it also listens on all addresses: True" in printed
    assert "store" not in lesson.namespace


def test_nothing_is_left(lesson):
    assert not Path(lesson.namespace["room"].name).exists()
    for child in psutil.Process().children(recursive=True):
        assert "train_gpt.py" not in " ".join(child.cmdline())


def test_the_loop_shown_is_that_of_the_program():
    program = (config().course_root() / "labkit/distributed/checkpoints/run.py").read_text()
    lines = [line.strip() for line in program.splitlines()]
    cells = load(CHAPTER / "source" / "restarts_and_monitoring" / "lesson.py", f"{NAME}.py").cells
    (text,) = [cell.text for cell in cells if "while training.step < orders" in cell.text]
    shown = [line.strip() for line in text.split("```")[1].strip().splitlines()]
    assert len(shown) == 5 and all(line in lines for line in shown[1:])
