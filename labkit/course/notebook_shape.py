"""Whether a JSON value has the shape of a notebook, as far as the course reads it.

A key that is absent is no fault here: what must be there is for the rules to say.
"""

from collections.abc import Callable
from typing import Any


def is_text(value: Any) -> bool:
    """nbformat allows one string or a list of lines."""
    return isinstance(value, str) or is_list_of(value, lambda line: isinstance(line, str))


def is_list_of(value: Any, fits: Callable[[Any], bool]) -> bool:
    """A list whose elements all fit."""
    return isinstance(value, list) and all(fits(element) for element in value)


def is_dict_with(value: Any, **fits: Callable[[Any], bool]) -> bool:
    """A dict whose values fit, of the keys named and there."""
    if not isinstance(value, dict):
        return False
    return all(fits_here(value[key]) for key, fits_here in fits.items() if key in value)


def is_dict(value: Any) -> bool:
    """Any dict."""
    return isinstance(value, dict)


def is_name(value: Any) -> bool:
    """Any string."""
    return isinstance(value, str)


def is_metadata(value: Any) -> bool:
    """The notebook's own metadata: its kernel, and what the course adds."""
    return is_dict_with(value, kernelspec=is_dict, labkit=is_dict)


def is_cell(value: Any) -> bool:
    """A cell of code or of Markdown."""
    return is_dict_with(
        value,
        cell_type=is_name,
        source=is_text,
        metadata=_is_metadata_of_cell,
        outputs=lambda outputs: is_list_of(outputs, _is_output),
    )


def _is_metadata_of_cell(value: Any) -> bool:
    return is_dict_with(value, tags=lambda tags: is_list_of(tags, is_name), holds=is_dict)


def _is_output(value: Any) -> bool:
    return is_dict_with(
        value,
        name=is_name,
        text=is_text,
        data=_is_data,
        metadata=_is_metadata_of_pictures,
    )


def _is_data(value: Any) -> bool:
    return is_dict_with(value, **{"text/plain": is_text, "text/html": is_text})


def _is_metadata_of_pictures(value: Any) -> bool:
    """Each picture's own metadata, with its alt text."""
    kinds = ("image/png", "image/jpeg", "image/gif", "image/svg+xml")
    return is_dict_with(value, **dict.fromkeys(kinds, is_dict))
