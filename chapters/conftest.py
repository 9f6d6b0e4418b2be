"""The tests in the folders of the lessons run as those in tests/ do."""

from tests.conftest import (  # noqa: F401
    _compiled_programs_go,
    lines_run,
    pytest_collection_modifyitems,
    room,
)
