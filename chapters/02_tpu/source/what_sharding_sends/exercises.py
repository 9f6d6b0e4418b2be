"""The exercises of lesson what_sharding_sends: bytes in a ring, and bytes of a step on a mesh."""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.tpu.what_sharding_sends.wrong import mesh_bytes as wrong_mesh
from labkit_lessons.tpu.what_sharding_sends.wrong import ring_bytes as wrong_ring

FORBIDDEN = (*LIBRARIES, "labkit.tpu")
KINDS = ("all-reduce", "all-gather", "reduce-scatter")

# tpu.ring_bytes: kind, result[n] in bytes on a device, devices[n] -> bytes that a device sends [n]

COLLECTIVES = {  # kind, how many
    "an all-reduce of two sizes": ("all-reduce", 2),
    "all sizes 1": ("all-gather", 1),
    "gathered": ("all-gather", 5),
    "scattered": ("reduce-scatter", 3),
    "prime": ("all-reduce", 7),
    "many scattered": ("reduce-scatter", 33),
    "many gathered": ("all-gather", 19),
    "many reduced": ("all-reduce", 41),
}


def collectives_of(rng: np.random.Generator, kind: str, n: int) -> tuple:
    """Results of other bytes, on another number of devices each, of which one may be alone."""
    devices = rng.permutation(n) + (1 if n > 2 else 2)
    result = 2 * rng.permutation(np.arange(10, 10 + 40 * n))[:n]
    return kind, result, devices


def in_a_ring(kind, result, devices):
    """An array of so many bytes goes around once, in n - 1 of its n parts; a sum goes twice."""
    whole = result * devices if kind == "reduce-scatter" else result
    around = 2 if kind == "all-reduce" else 1
    return around * (devices - 1) * whole / devices


ring_bytes = exercise(
    "tpu.ring_bytes",
    oracle=in_a_ring,
    cases=cases_of(COLLECTIVES, collectives_of),
    wrong=by_own_name(
        wrong_ring.result_for_whole,
        wrong_ring.gathered_part,
        wrong_ring.once_around,
        wrong_ring.all_twice,
        wrong_ring.own_part_not_left_out,
        wrong_ring.to_each_other,
        wrong_ring.one_part,
        wrong_ring.parts_for_all_kinds,
        wrong_ring.the_result_alone,
        wrong_ring.scattered_like_gathered_twice,
        wrong_ring.all_devices,
        wrong_ring.one_more_step,
        wrong_ring.four_devices,
        wrong_ring.whole_parts,
    ),
    outputs=("bytes",),
    forbidden=FORBIDDEN,
)

# tpu.mesh_bytes: B, D, F, data[k], model[k] -> bytes that a chip sends in a step, on each mesh [k]

STEPS = {  # B, D, F, meshes
    "two meshes": (6, 4, 10, [(2, 1), (1, 3)]),
    "all sizes 1": (1, 1, 1, [(1, 1)]),
    "equal sizes of model": (9, 7, 12, [(3, 1), (5, 1), (9, 1)]),
    "equal sizes of data": (8, 5, 15, [(1, 3), (1, 5), (1, 1), (1, 15)]),
    "prime": (7, 11, 13, [(7, 13), (1, 11), (5, 1), (3, 2), (2, 3)]),
    "four chips": (1024, 512, 2048, [(4, 1), (2, 2), (1, 4)]),
    "sixteen chips": (4096, 1024, 512, [(16, 1), (8, 2), (4, 4), (2, 8), (1, 16)]),
    "a small batch": (3, 600, 700, [(3, 7), (1, 2), (2, 1), (5, 4), (4, 5), (7, 3)]),
}


def step_of(rng: np.random.Generator, B: int, D: int, F: int, meshes: list) -> tuple:
    """The sizes, somewhat larger, and the axes of meshes in which no size stands twice."""
    B, D, F = (int(size * rng.integers(1, 4)) if size > 1 else 1 for size in (B, D, F))
    data, model = np.array(meshes).T
    return B, D, F, data, model


def sent_in_a_step(B, D, F, data, model):
    """Both gradients around the axis data, and the result of the second product around model."""
    gradients = in_a_ring("all-reduce", 2 * (D * F + F * D) / model, data)
    results = in_a_ring("all-reduce", 2 * B * D / data, model)
    return gradients + results


mesh_bytes = exercise(
    "tpu.mesh_bytes",
    oracle=sent_in_a_step,
    cases=cases_of(STEPS, step_of),
    wrong=by_own_name(
        wrong_mesh.gradients_alone,
        wrong_mesh.results_alone,
        wrong_mesh.one_layer,
        wrong_mesh.weights_whole,
        wrong_mesh.batch_whole,
        wrong_mesh.nothing_cut,
        wrong_mesh.axes_exchanged,
        wrong_mesh.hidden_for_results,
        wrong_mesh.half,
        wrong_mesh.four_bytes,
        wrong_mesh.rings_exchanged,
        wrong_mesh.whole_bytes,
        wrong_mesh.two_in_each_ring,
        wrong_mesh.own_part_not_left_out,
        wrong_mesh.all_devices_in_one_ring,
        wrong_mesh.both_ways,
    ),
    outputs=("bytes",),
    forbidden=FORBIDDEN,
)

EXERCISES = [ring_bytes, mesh_bytes]
