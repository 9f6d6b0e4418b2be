import pytest

from labkit.lookup import row_of

TABLE = {"h100": 1, "h200": 2, "cray": 3}


def test_a_row():
    assert row_of(TABLE, "h200", "machine") == 2


def test_near_keys_are_named_whatever_their_case():
    told = r"No machine 'H10' in the table\. Did you mean 'h100' or 'h200'\? There are: h100, h200"
    with pytest.raises(ValueError, match=told):
        row_of(TABLE, "H10", "machine")


@pytest.mark.parametrize("key", ["zzz", None, 7])
def test_nothing_is_near(key):
    with pytest.raises(ValueError, match=r"No cluster .* in the table\. There are: h100, h200"):
        row_of(TABLE, key, "cluster")
