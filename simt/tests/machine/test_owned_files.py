"""Where somebody else may write, nothing is loaded."""

import os

import pytest

from numba_simt.owned_files import refuse_others


@pytest.mark.skipif(os.name != "posix" or os.getuid(), reason="only root gives folders away")
def test_a_folder_in_another_users_folder_is_refused(tmp_path):
    """Whoever owns the one above may put his own in its place; not in a sticky one, as /tmp is."""
    theirs, ours = tmp_path / "theirs", tmp_path / "theirs" / "ours"
    ours.mkdir(parents=True)
    refuse_others(ours, "CACHE")
    theirs.chmod(0o1777)
    refuse_others(ours, "CACHE")
    theirs.chmod(0o777)
    with pytest.raises(PermissionError, match=r"Other users may write to .*theirs,"):
        refuse_others(ours, "CACHE")
    theirs.chmod(0o755)
    os.chown(theirs, 65534, -1)
    with pytest.raises(PermissionError, match="theirs belongs to another user"):
        refuse_others(ours, "CACHE")


@pytest.mark.skipif(os.name != "posix" or os.getuid(), reason="only root gives folders away")
def test_a_stranger_is_not_taken_for_the_system_s_user(tmp_path, monkeypatch):
    """In a user namespace, such as that of ranks, both have the same number."""
    ours = tmp_path / "above" / "ours"
    ours.mkdir(parents=True)
    monkeypatch.setattr("numba_simt.owned_files._unknown_user", lambda: 65534)
    os.chown(ours.parent, 65534, -1)
    refuse_others(ours, "CACHE")
    os.chown(ours, 65534, -1)
    with pytest.raises(PermissionError, match="ours belongs to another user"):
        refuse_others(ours, "CACHE")
