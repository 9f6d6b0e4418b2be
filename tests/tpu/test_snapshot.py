"""labkit.tpu.snapshot: fingerprints of programs, what is stored, and what is said without it."""

import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")
import jax
from jax import lax
from jax import numpy as jnp

from labkit.tpu import compile_for_tpu, compiler, programs, snapshot, tracing
from labkit.tpu.tracing import trace

SQUARE = [(16, 16), (16, 16)]


def layer(x, w):
    return jax.nn.relu(x @ w) * 2


def rewritten(inputs, kernel):  # other names, other lines, the same program
    product = inputs @ kernel

    return jax.nn.relu(product) * 2


def looped(x, w):
    return lax.scan(lambda c, _: (c @ w, None), x, None, length=5)[0]


CHANGED = {
    "a constant": lambda x, w: jax.nn.relu(x @ w) * 3,
    "the order of the factors": lambda x, w: jax.nn.relu(w @ x) * 2,
    "the function": lambda x, w: jnp.abs(x @ w) * 2,
    "an operation more": lambda x, w: jax.nn.relu(x @ w) * 2 + 1,
    "the axis that is summed over": lambda x, w: jax.nn.relu(x @ w.T) * 2,
    "the precision": lambda x, w: jax.nn.relu(jnp.matmul(x, w, precision="highest")) * 2,
    "the accumulator": lambda x, w: jax.nn.relu(jnp.matmul(x, w, preferred_element_type="f4")) * 2,
    "what is returned": lambda x, w: x @ w,
    "an array it holds": lambda x, w: jax.nn.relu(x @ w) * jnp.arange(16, dtype="bfloat16"),
}


def fingerprint(f, shapes=SQUARE, **options):
    return trace(f, shapes, **options).fingerprint


def test_names_and_lines_do_not_matter():
    assert fingerprint(layer) == fingerprint(rewritten) == fingerprint(layer)
    assert fingerprint(jax.jit(programs.matmul)) != fingerprint(layer)


@pytest.mark.parametrize("what", CHANGED)
def test_a_changed_program_has_another_fingerprint(what):
    assert fingerprint(CHANGED[what]) != fingerprint(layer)


def test_every_two_changes_differ_from_each_other():
    every = [fingerprint(f) for f in CHANGED.values()]
    assert len({*every}) == len(every)


def test_shapes_dtypes_shardings_and_constants_matter():
    plain = fingerprint(layer)
    others = [
        fingerprint(layer, [(16, 16), (16, 17)]),
        fingerprint(layer, [((16, 16), "float32")] * 2),
        fingerprint(layer, shardings=(("devices",), ())),
        fingerprint(layer, shardings=((), ("devices",))),
    ]
    assert len({plain, *others}) == 5
    held = [jnp.arange(16, dtype="bfloat16") + n for n in (0, 1)]
    zero, one = (fingerprint(lambda x, w, c=c: x @ w + c) for c in held)
    assert zero != one


def test_what_is_donated_matters_and_nothing_changes_nothing():
    plain = fingerprint(layer)
    first = fingerprint(layer, donate=(0,))
    assert len({plain, first, fingerprint(layer, donate=(1,))}) == 3
    assert fingerprint(layer, donate=()) == plain
    assert fingerprint(layer, donate=(0, 1)) == fingerprint(layer, donate=(1, 0))
    with pytest.raises(ValueError, match="there are 2 arguments, counted from 0"):
        trace(layer, SQUARE, donate=(2,))


def test_inner_programs_count_with_all_their_parameters():
    def longer(x, w):
        return lax.scan(lambda c, _: (c @ w, None), x, None, length=6)[0]

    def other_body(x, w):
        return lax.scan(lambda c, _: (w @ c, None), x, None, length=5)[0]

    assert len({fingerprint(f) for f in (looped, longer, other_body)}) == 3
    windows = [
        fingerprint(lambda x, w, s=s: programs.conv(x, w, s), [(2, 8, 8, 3), (3, 3, 3, 4)])
        for s in (1, 2)
    ]
    assert windows[0] != windows[1]


def test_another_process_finds_the_same_fingerprint():
    code = (
        "from labkit.tpu import programs, tracing\n"
        "print(tracing.trace(programs.convnet, [programs.CONVNET, (4, 32, 32, 3)]).fingerprint)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    here = fingerprint(programs.convnet, [programs.CONVNET, (4, 32, 32, 3)])
    assert done.stdout.strip() == here


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A snapshot of one program, as the tool writes it."""
    program = trace(layer, SQUARE)
    answer = {
        "title": program.title,
        "topology": "v5e:1x1",
        "flops": 1.0,
        "bytes_accessed": 2.0,
        "memory": {"argument": 3},
        "ops": [["fusion", "matmul", 40, "dot_general"], ["copy-start", "copy-start", None, ""]],
        "padding": [["x", [16, 16], "bf16", "1,0", "T(8,128)(2,1)", "HBM", 512, 4096]],
        "collectives": [],
    }
    path = tmp_path / "snapshot.json"
    entries = {f"{program.fingerprint} v5e:1x1": answer}
    path.write_text(json.dumps({"by": "libtpu 1", "date": "2026-01-02", "entries": entries}))
    monkeypatch.setattr(snapshot, "FILE", path)
    snapshot.stored.cache_clear()
    yield entries
    snapshot.stored.cache_clear()


def test_the_snapshot_answers_and_says_that_it_does(stored):
    made = compile_for_tpu(layer, SQUARE, source="snapshot")
    assert made.source == "snapshot: compiled by libtpu 1 on 2026-01-02"
    assert (made.estimated_cycles, made.unestimated) == (40, 1)
    assert made.padding[0].shape == (16, 16)
    assert made.padding[0].waste == 0.875
    assert made.hlo is None
    assert made.memory == {"argument": 3}


def test_without_the_compiler_auto_is_the_snapshot(stored, monkeypatch):
    monkeypatch.setenv("LABKIT_TPU_COMPILER", "off")
    assert compile_for_tpu(rewritten, SQUARE).source.startswith("snapshot")


@pytest.mark.parametrize("what", CHANGED)
def test_a_changed_program_never_gets_the_numbers_of_another(what, stored):
    with pytest.raises(LookupError):
        compile_for_tpu(CHANGED[what], SQUARE, source="snapshot")


def test_a_program_that_is_not_stored_gets_the_near_ones_and_the_way_out(stored):
    with pytest.raises(LookupError) as said:
        compile_for_tpu(layer, [(16, 16), (16, 32)], source="snapshot")
    assert "not layer(x: bfloat16[16, 16], w: bfloat16[16, 32]) on v5e:1x1" in str(said.value)
    assert "near it: layer(x: bfloat16[16, 16], w: bfloat16[16, 16])" in str(said.value)
    assert "pip install jax libtpu" in str(said.value)
    with pytest.raises(LookupError):
        compile_for_tpu(layer, SQUARE, "v6e:1x1", source="snapshot")


def test_a_stored_out_of_memory_is_raised_again(stored):
    (key,) = stored
    answer = snapshot.stored()["entries"][key]
    for field in {*answer} - {"title", "topology"}:
        del answer[field]
    answer["error"] = "RESOURCE_EXHAUSTED: Used 22.38G of 15.75G hbm. Exceeded by 6.63G."
    with pytest.raises(compiler.TPUOutOfMemory, match=r"22.38 GiB .* 15.75 GiB.*snapshot"):
        compile_for_tpu(layer, SQUARE, source="snapshot")


def test_agreement_says_what_differs_and_by_how_much(stored):
    one = compile_for_tpu(layer, SQUARE, source="snapshot")
    assert "agree in estimated_cycles, flops" in snapshot.agreement(one, one)
    other = dataclasses.replace(one, ops=[one.ops[0]._replace(cycles=44)], source="another")
    said = snapshot.agreement(other, one)
    assert "differs from the snapshot in estimated_cycles; 44 cycles against 40." in said


def test_the_committed_snapshot_is_whole():
    held = json.loads(snapshot.FILE.read_text(encoding="utf-8"))
    assert re.fullmatch(r"libtpu [\d.]+ through jax [\d.]+", held["by"])
    assert held["command"] == "python tools/tpu_snapshot.py"
    for key, one in held["entries"].items():
        assert key.rpartition(" ")[2] == one["topology"] in compiler.topologies()
        if "error" not in one:
            cycles = [op[2] for op in one["ops"] if op[2] is not None]
            own_kernels = [op for op in one["ops"] if op[1] == "custom-call"]
            assert sum(cycles) > 0 or own_kernels
            for _, bundles, step, steps, vmem, spilled in one.get("kernels", []):
                assert 0 < step <= bundles and steps > 0 and vmem > 0 and spilled >= 0
            assert all(row[7] >= row[6] > 0 for row in one["padding"])
    assert snapshot.FILE.stat().st_size < 200_000


def test_the_large_programs_are_those_of_the_tool_and_tell_their_sums(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools")
    import tpu_resnet

    for batch, topology in ((128, "v2:1x1"), (1024, "v5e:1x1")):
        name = f"ResNet-50 step of {batch} images"
        held = snapshot.stored()["entries"][f"{name} {topology}"]
        assert held["fingerprint"] == fingerprint(*tpu_resnet.train_step(batch))
    made = compiler.recall("ResNet-50 step of 256 images", "v5e:1x1")
    dense = [op for op in made.ops if op.kind == "convolution"]
    assert [op.count for op in dense] == [158] and made.unestimated > 1000
    # 3 passes of 4.09e9 multiply-adds an image, less the first layer's gradient to its input
    assert made.flops == pytest.approx(3 * 2 * 4.09e9 * 256, rel=0.03)
    assert made.flops / 2 < 4 * 128**2 * made.estimated_cycles
    with pytest.raises(compiler.TPUOutOfMemory, match="ResNet-50 step of 1024 images needs"):
        compiler.recall("ResNet-50 step of 1024 images", "v5e:1x1")
    with pytest.raises(LookupError, match="near it: ResNet-50 step of 256 images on v5e:1x1"):
        compiler.recall("ResNet-50 step of 512 images", "v5e:1x1")


HEAD = """\
# ---
# jupyter:
#   kernelspec:
#     name: python3
#   labkit:
#     title: An example
#     number: 3
#     minutes: 5
#     needs: []
#     able: add one
#     runs_on: any CPU
# ---

# %% tags=["setup"]
# The setup cell: written by labkit build.

"""


def test_the_tool_asks_what_both_lessons_ask(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools")
    import tpu_snapshot

    assert all(lesson.is_file() for lesson in tpu_snapshot.LESSONS)
    lessons = []
    for side in (3, 5):
        lesson = tmp_path / f"{side}_example.py"
        ask = f"compile_for_tpu(lambda a: a + 1, [({side},)], 'v2:1x1', source='snapshot')"
        lesson.write_text(f"{HEAD}# %%\nfrom labkit.tpu import compile_for_tpu\n\n{ask}\n")
        lessons.append(lesson)
    monkeypatch.setattr(tpu_snapshot, "LESSONS", lessons)
    monkeypatch.setattr(tpu_snapshot.compiler, "compile_for_tpu", None)  # put back afterwards
    monkeypatch.setattr(tpu_snapshot.compiler, "report", lambda answer: answer)
    monkeypatch.setattr(tpu_snapshot, "asked", lambda program, *_: {"title": program.title})
    made = tpu_snapshot.light()
    assert [key.rpartition(" ")[2] for key in made] == ["v2:1x1", "v2:1x1"]
    assert ["[3]" in one["title"] for one in made.values()] == [True, False]


@pytest.mark.skipif(not compiler.installed(), reason="no TPU compiler here")
def test_a_stored_program_compiles_to_the_stored_numbers():
    shapes = [(4096, 1025), (1025, 1024)]
    try:
        old = compile_for_tpu(programs.matmul, shapes, source="snapshot")
    except LookupError:
        pytest.skip("no lesson asks for it")
    new = compile_for_tpu(programs.matmul, shapes, source="compiler")
    if new.source.partition(" on ")[0] not in old.source:
        pytest.skip(f"another compiler: {new.source}")
    assert "agree" in snapshot.agreement(new, old)


def test_tracing_without_jax_is_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match="pip install jax"):
        tracing.trace(layer, SQUARE)


def of_a_mesh(axes, collective="model"):
    """The fingerprint of a product whose parts are added up along an axis of a mesh."""
    from jax.sharding import AbstractMesh, PartitionSpec

    cuts = (PartitionSpec("data", "model"), PartitionSpec("model"))
    chips = AbstractMesh(tuple(axes.values()), tuple(axes))
    f = jax.shard_map(
        lambda x, w: jax.lax.pmax(jax.lax.psum(x @ w, "model"), collective),
        mesh=chips,
        in_specs=cuts,
        out_specs=PartitionSpec("data" if collective == "model" else None),
    )
    return fingerprint(f, shardings=cuts, mesh=axes)


def test_a_mesh_is_part_of_the_fingerprint_and_of_no_process():
    """Sets of axes come in another order in each process, unless Python is told a seed."""
    square = {"data": 2, "model": 2}
    others = [of_a_mesh({"data": 4, "model": 1}), of_a_mesh(square, "data")]
    assert len({of_a_mesh(square), *others}) == 3
    root = str(Path(__file__).parents[2])
    code = f"import sys; sys.path.insert(0, {root!r}); from tests.tpu import test_snapshot\n"
    code += "print(test_snapshot.of_a_mesh({'data': 2, 'model': 2}))"
    for seed in ("1", "2"):
        env = os.environ | tracing.NO_TPU | {"PYTHONHASHSEED": seed, "JAX_PLATFORMS": "cpu"}
        command = [sys.executable, "-P", "-c", code]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        assert done.stdout.split() == [of_a_mesh(square)], done.stderr


def test_a_kernels_settings_count_where_they_are_chosen():
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def double(**settings):
        def kernel(x, out):
            out[...] = x[...] * 2

        shape = jax.ShapeDtypeStruct((16, 16), "bfloat16")
        params = pltpu.CompilerParams(**settings)
        return lambda x: pl.pallas_call(kernel, out_shape=shape, compiler_params=params)(x)

    plain = fingerprint(double(), [(16, 16)])
    assert plain == fingerprint(double(has_side_effects=False), [(16, 16)])
    assert plain != fingerprint(double(has_side_effects=True), [(16, 16)])
    assert plain != fingerprint(double(vmem_limit_bytes=1 << 20), [(16, 16)])
