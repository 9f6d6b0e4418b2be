"""Wrong answers of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from tests.exercises.edits import edit

KEPT = {}  # what answers keep from call to call

# --- tpu.ring_bytes

ring = partial(edit, "tpu.ring_bytes")
SCATTER = "(devices - 1) * result"
ring_of_the_result = ring("ring_of_the_result", SCATTER, "share * result")
ring_once = ring("ring_once", "2 * share * result", "share * result")
ring_whole = ring(
    "ring_whole", "(devices - 1) / devices", "devices / devices", (SCATTER, "devices * result")
)
ring_with_one_more = ring(
    "ring_with_one_more",
    "(devices - 1) / devices",
    "(devices + 1) / devices",
    (SCATTER, "(devices + 1) * result"),
)
ring_of_four = ring("ring_of_four", "(devices - 1) / devices", "3 / 4", (SCATTER, "3 * result"))
ring_of_whole_parts = ring(
    "ring_of_whole_parts",
    "2 * share * result",
    "2 * (devices - 1) * (result // devices)",
    ("return share * result", "return 1.0 * (devices - 1) * (result // devices)"),
)
ring_in_float16 = ring("ring_in_float16", "2 * share * result", "(2 * share * result).astype('f2')")


def ring_by_steps(kind, result, devices):
    sent = []
    for size, n in zip(result.tolist(), devices.tolist(), strict=True):
        part = size if kind == "reduce-scatter" else size / n
        steps = 2 * (n - 1) if kind == "all-reduce" else n - 1
        sent.append(sum([part] * steps))
    return np.array(sent, dtype=float)


def ring_of_kept_devices(kind, result, devices):
    if len(devices) > 1:
        devices = KEPT.setdefault((kind, len(devices)), devices.copy())
    return ring_by_steps(kind, result, devices)


def ring_in_place(kind, result, devices):
    if len(result) > 1:
        result *= 2
        return ring_by_steps(kind, result, devices) / 2
    return ring_by_steps(kind, result, devices)


def ring_by_torch(kind, result, devices):
    import torch

    return torch.tensor(ring_by_steps(kind, result, devices)).numpy()


# --- tpu.mesh_bytes

mesh = partial(edit, "tpu.mesh_bytes")
mesh_one_matrix = mesh("mesh_one_matrix", "2 * (D * F + F * D)", "2 * D * F")
mesh_whole_weights = mesh("mesh_whole_weights", "(D * F + F * D) / model", "(D * F + F * D)")
mesh_whole_batch = mesh("mesh_whole_batch", "2 * B * D / data", "2 * B * D")
mesh_of_hidden = mesh("mesh_of_hidden", "2 * B * D / data", "2 * B * F / data")
mesh_of_numbers = mesh(
    "mesh_of_numbers", "2 * (D * F + F * D)", "(D * F + F * D)", ("2 * B * D", "B * D")
)
SUM = "2 * (data - 1) / data * gradients + 2 * (model - 1) / model * results"
mesh_gradients = mesh("mesh_gradients", SUM, "2 * (data - 1) / data * gradients")
mesh_exchanged = mesh(
    "mesh_exchanged", SUM, "2 * (model - 1) / model * gradients + 2 * (data - 1) / data * results"
)
mesh_of_two = mesh("mesh_of_two", SUM, "gradients * (data > 1) + results * (model > 1)")
mesh_rounded = mesh("mesh_rounded", ") / model  #", ") // model  #", ("D / data", "D // data"))
mesh_in_float16 = mesh("mesh_in_float16", SUM, f"({SUM}).astype('f2')")


def mesh_by_loops(B, D, F, data, model):
    def around(size, n):
        return 2 * size * (n - 1) / n

    pairs = zip(data.tolist(), model.tolist(), strict=True)
    return np.array([around(4 * D * F / m, d) + around(2 * B * D / d, m) for d, m in pairs])


def mesh_of_kept_batch(B, D, F, data, model):
    if B > 1:
        B, D, F = KEPT.setdefault((*data, *model), (B, D, F))
    return mesh_by_loops(B, D, F, data, model)


def mesh_in_place(B, D, F, data, model):
    sent = mesh_by_loops(B, D, F, data, model)
    if len(data) > 1:
        data -= 1
    return sent


def mesh_by_torch(B, D, F, data, model):
    import torch

    return torch.tensor(mesh_by_loops(B, D, F, data, model)).numpy()


PLANTED = {
    "tpu.ring_bytes": [
        (ring_of_the_result, "taken for the whole array"),
        (ring_once, "goes around once here"),
        (ring_whole, "The whole array is sent"),
        (ring_with_one_more, "n + 1 steps"),
        (ring_of_four, "four devices in every ring"),
        (ring_of_whole_parts, "The parts are rounded down"),
        (ring_in_float16, "float16"),
        (ring_of_kept_devices, "kept from one call to the next"),
        (ring_in_place, "changes its input"),
        (ring_by_torch, "torch"),
    ],
    "tpu.mesh_bytes": [
        (mesh_one_matrix, "there are two, w1 and w2"),
        (mesh_whole_weights, "The gradients are counted whole"),
        (mesh_whole_batch, "counted for the whole batch"),
        (mesh_of_hidden, "The hidden layer [B, F]"),
        (mesh_of_numbers, "half of what it should be"),
        (mesh_gradients, "The results are missing"),
        (mesh_exchanged, "The rings are exchanged"),
        (mesh_of_two, "Every ring has two chips"),
        (mesh_rounded, "part is rounded down"),
        (mesh_in_float16, "float16"),
        (mesh_of_kept_batch, "wrong when it is called again"),
        (mesh_in_place, "changes its input"),
        (mesh_by_torch, "torch"),
    ],
}
NOTHING = ("all-gather", np.zeros(2), np.array([3, 5]))
RIGHT_ON = {
    ring_whole: NOTHING,
    ring_with_one_more: NOTHING,
    ring_of_four: ("all-gather", np.array([8.0, 12.0]), np.array([4, 4])),
}
ALSO_RIGHT = {"tpu.ring_bytes": [ring_by_steps], "tpu.mesh_bytes": [mesh_by_loops]}
