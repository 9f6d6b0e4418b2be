"""Exercise distributed.step_parts: compute, bandwidth and links of a step on several machines."""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise

Arguments = tuple[float, float, int, float, np.ndarray, float, float, float, float]


def some(
    rng: np.random.Generator,
    numbers: tuple[int, ...],
    compute: float,
    links: float,
    late: float = 0.5,
) -> Arguments:
    """A step on each of `numbers` machines; its bytes take one of them about a second.

    compute   seconds of its FLOPs on one machine, and links those of its all-reduces on two
    late      the share of an all-reduce that is latency
    """
    peak = float(rng.uniform(50, 500))
    bandwidth = float(rng.uniform(50, 500))
    link = float(rng.uniform(5, 40))
    reduces = int(rng.integers(3, 9))
    flops = compute * peak * float(rng.uniform(0.9, 1.1))
    moved = bandwidth * float(rng.uniform(0.9, 1.1))
    a_message = links / (2 * reduces)
    reduced = (1 - late) * a_message * 2 * link
    n = rng.permutation(np.array(numbers))
    work = (short(flops), short(moved), reduces, short(reduced))
    return *work, n, short(peak), short(bandwidth), short(late * a_message), short(link)


def short(number: float) -> float:
    """The number with four digits, as a case is shown."""
    return float(f"{number:.4g}")


def parts(
    compute: Callable[..., np.ndarray] = lambda flops, n, peak: flops / (n * peak),
    reading: Callable[..., np.ndarray] = lambda moved, n, bandwidth: moved / (n * bandwidth),
    ring: Callable[..., np.ndarray] = lambda n, latency, reduced, link: (
        2 * (n - 1) * (latency + reduced / (n * link))
    ),
    times: Callable[[int], int] = lambda reduces: reduces,
    whole: Callable[..., np.ndarray] = lambda compute, reading, links: (
        np.maximum(compute, reading) + links
    ),
) -> Callable[..., np.ndarray]:
    """[compute, bandwidth, links, step] under one idea or another: [4,N]."""

    def of_step(flops, moved, reduces, reduced, n, peak, bandwidth, latency, link):
        one = compute(flops, n, peak) + 0 * n
        other = reading(moved, n, bandwidth) + 0 * n
        links = times(reduces) * ring(n, latency, reduced, link)
        return np.array([one, other, links, whole(one, other, links)])

    return of_step


def parts_of(flops, moved, reduces, reduced, n, peak, bandwidth, latency, link) -> np.ndarray:
    """The oracle."""
    return parts()(flops, moved, reduces, reduced, n, peak, bandwidth, latency, link)


def one_message_for_all(
    flops, moved, reduces, reduced, n, peak, bandwidth, latency, link
) -> np.ndarray:
    """As if all all-reduces of a step were one of all their bytes."""
    return parts_of(
        flops,
        moved,
        1,
        reduces * reduced,
        n,
        peak,
        bandwidth,
        latency,
        link,
    )


def ring_of(seconds: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Another idea of an all-reduce: seconds(n, latency, reduced, link)."""
    return parts(ring=seconds)


def written_over(flops, moved, reduces, reduced, n, peak, bandwidth, latency, link) -> np.ndarray:
    """As if np.maximum took the largest of three: what stands third is where it writes."""
    compute, reading, *_ = parts_of(
        flops, moved, reduces, reduced, n, peak, bandwidth, latency, link
    )
    longer = np.maximum(compute, reading)
    return np.array([compute, reading, longer, longer])


step_parts = exercise(
    "distributed.step_parts",
    oracle=parts_of,
    cases=cases_of(
        {
            "three, compute": ((3,), 2.5, 0.4),
            "one machine, bandwidth": ((1,), 0.3, 0.5),
            "prime, links": ((7, 3, 5), 0.2, 3.0),
            "up to eight, nearly balanced": ((1, 2, 4, 8), 0.97, 0.4),
            "up to sixteen, latency": ((16, 8, 4, 2, 1), 0.5, 0.3, 0.95),
            "long messages": ((2, 6, 8, 9, 12, 24), 1.4, 2.0, 0.02),
            "up to sixty-four": ((1, 2, 4, 8, 16, 32, 64), 3.0, 0.1),
        },
        some,
    ),
    wrong={
        "compute_not_shared": parts(compute=lambda flops, n, peak: flops / peak),
        "bytes_not_shared": parts(reading=lambda moved, n, bandwidth: moved / bandwidth),
        "swapped": lambda *given: parts_of(*given)[[1, 0, 2, 3]],
        "one_all_reduce": parts(times=lambda reduces: 1),
        "three_all_reduces": parts(times=lambda reduces: 3),
        "one_message_for_all": one_message_for_all,
        "upside_down": parts(
            compute=lambda flops, n, peak: n * peak / flops,
            reading=lambda moved, n, bandwidth: n * bandwidth / moved,
        ),
        "n_times_as_long": parts(
            compute=lambda flops, n, peak: flops * n / peak,
            reading=lambda moved, n, bandwidth: moved * n / bandwidth,
        ),
        "latency_is_shared": ring_of(
            lambda n, latency, reduced, link: 2 * (n - 1) / n * (latency + reduced / link)
        ),
        "latency_once_a_round": ring_of(
            lambda n, latency, reduced, link: (n - 1) * (latency + 2 * reduced / (n * link))
        ),
        "too_few_pieces": ring_of(
            lambda n, latency, reduced, link: (
                2 * (n - 1) * (latency + reduced / (np.maximum(n - 1, 1) * link))
            )
        ),
        "largest_of_all": parts(
            whole=lambda compute, reading, links: np.maximum(compute.max(), reading.max()) + links
        ),
        "bytes_and_links": parts(whole=lambda compute, reading, links: reading + links),
        "flops_and_links": parts(whole=lambda compute, reading, links: compute + links),
        "one_half_of_the_ring": ring_of(
            lambda n, latency, reduced, link: (n - 1) * (latency + reduced / (n * link))
        ),
        "whole_messages": ring_of(
            lambda n, latency, reduced, link: 2 * (n - 1) * (latency + reduced / link)
        ),
        "no_latency": ring_of(lambda n, latency, reduced, link: 2 * (n - 1) * reduced / (n * link)),
        "latency_once": ring_of(
            lambda n, latency, reduced, link: latency + 2 * (n - 1) * reduced / (n * link)
        ),
        "latency_once_of_several": ring_of(
            lambda n, latency, reduced, link: latency * (n > 1) + 2 * (n - 1) * reduced / (n * link)
        ),
        "latency_by_link": ring_of(
            lambda n, latency, reduced, link: 2 * (n - 1) * (latency + reduced / n) / link
        ),
        "tree": ring_of(
            lambda n, latency, reduced, link: 2 * np.log2(n) * (latency + reduced / (n * link))
        ),
        "tree_of_whole_messages": ring_of(
            lambda n, latency, reduced, link: 2 * np.log2(n) * (latency + reduced / link)
        ),
        "pieces_rounded_up": ring_of(
            lambda n, latency, reduced, link: 2 * (n - 1) * (latency + np.ceil(reduced / n) / link)
        ),
        "pieces_rounded_down": ring_of(
            lambda n, latency, reduced, link: 2 * (n - 1) * (latency + reduced // n / link)
        ),
        "one_rank_more": ring_of(
            lambda n, latency, reduced, link: 2 * n * (latency + reduced / (n * link))
        ),
        "links_are_shared": ring_of(
            lambda n, latency, reduced, link: 2 * (n - 1) / n * (latency + reduced / (n * link))
        ),
        "all_added": parts(whole=lambda compute, reading, links: compute + reading + links),
        "written_over": written_over,
        "no_step": lambda *given: parts_of(*given)[:3],
        "step_first": lambda *given: parts_of(*given)[[3, 0, 1, 2]],
        "beside_compute": parts(
            whole=lambda compute, reading, links: np.maximum(compute, reading + links)
        ),
        "beside_reading": parts(
            whole=lambda compute, reading, links: np.maximum(compute + links, reading)
        ),
        "all_hidden": parts(
            whole=lambda compute, reading, links: np.maximum(np.maximum(compute, reading), links)
        ),
        "links_forgotten": parts(
            whole=lambda compute, reading, links: np.maximum(compute, reading)
        ),
        "the_shorter": parts(
            whole=lambda compute, reading, links: np.minimum(compute, reading) + links
        ),
    },
    dtype="float",
    forbidden=(*LIBRARIES, "labkit.distributed.chooser", "labkit.distributed.costs.cost_model"),
)
