"""Several questions to the tools at once: each tool is a process, and a machine has several cores.

synthesis, timing = side_by_side([ask_for_gates, ask_for_a_clock])
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

MOST = 4  # at a time: a compiler takes some hundred megabytes


def side_by_side(asks: Iterable[Callable[[], Any]]) -> list[Future]:
    """What each gave or raised, in their order, once all have ended.

    They run in threads, under the same limits as whoever asks (`tools.prompt`).
    """
    with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST)) as pool:
        return [pool.submit(copy_context().run, ask) for ask in asks]
