"""cached.py: kept under everything that it depends on, and never in the way."""

import pytest

from labkit.fpga.toolchain.cached import cached, text_of


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    return tmp_path


def test_the_second_time_nothing_is_made(cache):
    calls = []
    make = lambda: calls.append(1) or {"n": len(calls)}  # noqa: E731
    assert cached("kind", ["a", 1], make) == {"n": 1}
    assert cached("kind", ["a", 1], make) == {"n": 1}
    assert cached("kind", ["a", 2], make) == {"n": 2}
    assert cached("other", ["a", 1], make) == {"n": 3}
    assert len(list(cache.rglob("*.json"))) == 3
    assert not [path for path in cache.rglob("*") if path.name.startswith(".")]


@pytest.mark.parametrize("damage", ["{", "[]", "{}", '{"depends_on": ["b"], "answer": {"n": 0}}'])
def test_what_is_damaged_or_another_answer_is_made_again(cache, damage):
    cached("kind", ["a"], lambda: {"n": 1})
    (path,) = cache.rglob("*.json")
    path.write_text(damage)
    assert cached("kind", ["a"], lambda: {"n": 2}) == {"n": 2}
    assert cached("kind", ["a"], lambda: {"n": 3}) == {"n": 2}


def test_an_error_is_not_kept(cache):
    def make():
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        cached("kind", ["a"], make)
    assert list(cache.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_no_error(cache, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(cache / "file"))
    (cache / "file").write_text("")
    assert cached("kind", ["a"], lambda: {"n": 1}) == {"n": 1}


def test_the_text_of_our_modules_is_part_of_a_key(cache):
    one, two = cache / "one.py", cache / "two.py"
    one.write_text("a")
    two.write_text("b")
    assert text_of(str(one)) != text_of(str(two)) != text_of(str(one), str(two))
