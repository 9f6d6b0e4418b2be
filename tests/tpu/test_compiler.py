"""labkit.tpu.compile_for_tpu with the real compiler: relations that must hold, and bad input."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("jax")
from labkit.tpu import compile_for_tpu, compiler, device, programs, tracing
from labkit.tpu.programs import conv, matmul
from tests.night import others_by_night

needs_compiler = pytest.mark.skipif(not compiler.installed(), reason="no TPU compiler here")


def compiled(f, *requests):
    """What the compiler says for each (shapes, topology), two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return [*pool.map(lambda one: compile_for_tpu(f, *one, source="compiler"), requests)]


def cycles(f, *requests):
    return [made.estimated_cycles for made in compiled(f, *requests)]


@pytest.fixture(scope="module")
def convnet():
    shapes = [programs.CONVNET, (128, 32, 32, 3)]
    return compile_for_tpu(programs.convnet, shapes, source="compiler")


WIDTHS = others_by_night(
    [("v5e:1x1", 128), ("v6e:1x1", 256)],
    instead="tests/tpu/test_compiler.py::test_depth_costs_in_steps_of_the_matrix_units_width",
)


@needs_compiler
@pytest.mark.parametrize(("topology", "width"), WIDTHS)
def test_depth_costs_in_steps_of_the_matrix_units_width(topology, width):
    depths = (1024, 1025, 1152, 1280) if width == 128 else (1024, 1025, 1280)
    products = [([(4096, k), (k, 1024)], topology) for k in depths]
    at = dict(zip(depths, cycles(matmul, *products), strict=True))
    assert at[1025] > 1.03 * at[1024]  # one more, and a whole step is paid for
    if width == 128:
        assert at[1152] == pytest.approx(at[1025], rel=0.01)
        assert at[1280] > 1.05 * at[1152]  # the next step
    else:
        assert at[1280] == pytest.approx(at[1025], rel=0.01)  # still the same


@pytest.mark.night(
    instead="tests/tpu/test_compiler.py::test_depth_costs_in_steps_of_the_matrix_units_width"
)
@needs_compiler
def test_channels_below_the_width_cost_the_same():
    channels = [(64, 64), (64, 128), (128, 128)]
    layers = [([(16, 56, 56, c), (3, 3, c, k)], "v5e:1x1") for c, k in channels]
    half, full, both = cycles(conv, *layers)
    assert half == full
    assert both == pytest.approx(full, rel=0.02)


@needs_compiler
@pytest.mark.parametrize(
    "generations",
    others_by_night(
        [["v5e"], [one for one in compiler.CORES if one != "v5e"]],
        "tests/tpu/test_compiler.py::test_every_generation_compiles_and_no_estimate_beats_its_peak",
    ),
)
def test_every_generation_compiles_and_no_estimate_beats_its_peak(generations):
    every = [([(1024, 1024)] * 2, f"{generation}:1x1") for generation in generations]
    for made, generation in zip(compiled(matmul, *every), generations, strict=True):
        _, macs = compiler.CORES[generation]
        assert made.flops == 2 * 1024**3
        assert 0.2 < 1024**3 / macs / made.estimated_cycles < 1
        assert made.seconds.word == "predicted"
        assert float(made.seconds) == pytest.approx(made.estimated_cycles / made.clock)


def test_the_clocks_are_those_that_google_gives():
    """Jouppi et al. 2021 and 2023 for v2 to v4 (700, 940, 1050 MHz); v5e: 1.5, v5p: 1.75 GHz."""
    known = {"v2": 0.7, "v3": 0.94, "v4": 1.05, "v5e": 1.5, "v5p": 1.75}
    for generation, ghz in known.items():
        nothing = {"ops": [], "padding": [], "collectives": [], "memory": {}}
        made = compiler.Compiled(
            title="", topology=f"{generation}:1x1", source="", flops=0, bytes_accessed=0, **nothing
        )
        assert made.clock / 1e9 == pytest.approx(ghz, rel=0.01)
        assert made.estimated_cycles is made.seconds is None


@needs_compiler
def test_padded_bytes_add_up_to_what_the_compiler_reserves(convnet):
    arguments = convnet.padding[: len(programs.CONVNET) + 1]
    assert [one.name for one in arguments][-1] == "x"
    assert sum(one.padded_bytes for one in arguments) == convnet.memory["argument"]
    assert sum(one.logical_bytes for one in arguments) < convnet.memory["argument"]
    assert convnet.padding[-1].padded_bytes == convnet.memory["output"]  # the logits
    images = arguments[-1]
    assert (images.shape, images.dtype) == ((128, 32, 32, 3), "bf16")
    assert images.logical_bytes == 128 * 32 * 32 * 3 * 2


@needs_compiler
def test_a_report_names_layers_and_where_its_numbers_come_from(convnet):
    kinds = {op.layer.split("/")[0]: op.kind for op in convnet.ops if op.cycles}
    assert kinds["conv1"] == kinds["conv2"] == "convolution"
    assert kinds["fc2"] == "matmul"
    assert convnet.estimated_cycles == sum(op.cycles or 0 for op in convnet.ops)
    assert convnet.source.startswith("compiled by libtpu")
    assert f"{convnet.estimated_cycles:,} cycles" in repr(convnet)
    assert all(one.layout.startswith("T(") for one in convnet.padding)


@needs_compiler
def test_a_function_without_any_arithmetic_that_xla_counts_has_no_flop():
    from jax import numpy as jnp

    for f in (jnp.sin, lambda x: x.T):
        (made,) = compiled(f, ([((256, 256), "float32")], "v5e:1x1"))
        assert made.flops == 0 < made.estimated_cycles


@needs_compiler
def test_cut_over_four_chips_the_devices_talk():
    shapes, topology = [(1024, 1024)] * 2, "v5e:2x2"
    rows = compile_for_tpu(matmul, shapes, topology, shardings=(("devices",), ()))
    assert rows.collectives == []  # each has its rows of the result
    assert rows.padding[0].shape == (256, 1024)
    inner = compile_for_tpu(matmul, shapes, topology, shardings=((None, "devices"), ("devices",)))
    assert [one[0::3] for one in inner.collectives] == [("all-reduce", 4)]  # sums of parts
    assert inner.collectives[0].bytes == 1024 * 1024 * 2
    assert rows.flops == pytest.approx(2 * 1024**3 / 4)


@needs_compiler
def test_a_mesh_with_two_axes_and_a_shard_map_over_it():
    """By hand and by the compiler: the same all-reduce between the two chips along model."""
    import jax
    from jax.sharding import AbstractMesh, PartitionSpec

    def layers(x, w1, w2):
        return jax.nn.relu(x @ w1) @ w2

    def by_hand(x, w1, w2):
        return jax.lax.psum(layers(x, w1, w2), "model")

    shapes = [(256, 128), (128, 512), (512, 128)]
    mesh = {"data": 2, "model": 2}
    cuts = (PartitionSpec("data"), PartitionSpec(None, "model"), PartitionSpec("model"))
    chips = AbstractMesh((2, 2), ("data", "model"))
    f = jax.shard_map(by_hand, mesh=chips, in_specs=cuts, out_specs=PartitionSpec("data"))
    options = {"shardings": cuts, "mesh": mesh, "source": "compiler"}
    for program in (f, layers):
        made = compile_for_tpu(program, shapes, "v5e:2x2", **options)
        assert [one[0::2] for one in made.collectives] == [("all-reduce", 128 * 128 * 2)]
        assert made.collectives[0].group == 2
        assert [one.shape for one in made.padding[:3]] == [(128, 128), (128, 256), (256, 128)]


def test_a_mesh_that_cannot_be_is_a_sentence():
    cuts = (("data",), ())
    with pytest.raises(ValueError, match="A mesh of 2 x 3 does not have the 4 devices of v5e:2x2"):
        compile_for_tpu(matmul, [(8, 8)] * 2, "v5e:2x2", shardings=cuts, mesh={"data": 2, "m": 3})
    with pytest.raises(ValueError, match="A mesh needs shardings"):
        compile_for_tpu(matmul, [(8, 8)] * 2, "v5e:2x2", mesh={"data": 4})


@needs_compiler
def test_more_than_the_memory_is_said_with_both_numbers():
    with pytest.raises(compiler.TPUOutOfMemory, match=r"needs 1[6-9]\.\d+ GiB .* has 15\.75 GiB"):
        compile_for_tpu(lambda x: x + 1, [((4, 2**30), "float32")])


@needs_compiler
@pytest.mark.parametrize(("death", "how"), [("kill -SEGV $$", "signal 11"), ("exit 3", "code 3")])
def test_a_crash_is_a_sentence_with_the_versions(death, how, tmp_path, monkeypatch):
    stand_in = tmp_path / "python"
    stand_in.write_text(f"#!/bin/sh\necho its last words >&2\n{death}\n")
    stand_in.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stand_in))
    with pytest.raises(
        compiler.CompilerError, match=rf"crashed \(.*{how}\): libtpu .* jax .*words"
    ):
        compile_for_tpu(matmul, [(8, 8)] * 2, source="compiler")


@needs_compiler
def test_a_real_segmentation_fault_in_the_child_leaves_this_process_alone(monkeypatch):
    monkeypatch.setenv("PYTHONFAULTHANDLER", "0")
    program = tracing.trace(matmul, [(8, 8)] * 2)
    worker = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    run = compiler.subprocess.run
    monkeypatch.setattr(
        compiler.subprocess, "run", lambda command, **k: run([command[0], "-c", worker], **k)
    )
    with pytest.raises(compiler.CompilerError, match=f"signal {signal.SIGSEGV.value}"):
        compiler.ask(program, "v5e:1x1")


@needs_compiler
def test_a_compiler_that_hangs_is_ended_at_the_time_limit(tmp_path, monkeypatch):
    """The stand-in reads nothing and answers nothing."""
    stand_in = tmp_path / "python"
    stand_in.write_text("#!/bin/sh\nexec sleep 600\n")
    stand_in.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stand_in))
    children = []

    class Child(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            children.append(self)

    monkeypatch.setattr(subprocess, "Popen", Child)
    with pytest.raises(compiler.CompilerError, match=r"stopped after 0.2 s, its time limit"):
        compile_for_tpu(matmul, [(8, 8)] * 2, source="compiler", timeout=0.2)
    (child,) = children
    assert child.returncode == -signal.SIGKILL  # and nothing of it is left


@needs_compiler
def test_what_the_compiler_refuses_is_a_sentence():
    with pytest.raises(compiler.CompilerError, match=r"refused matmul\(.*divide"):
        compile_for_tpu(matmul, [(3, 4), (4, 4)], "v5e:2x2", shardings=(("devices",), ()))


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ([(3, 4), (5, 6)], "cannot be traced on these shapes.*contracting"),
        ([(3, 4)], "missing 1 required"),
        ([(3, 0), (0, 4)], "a: the shape .* axis of size 0"),
        ([((3, 4), "float64"), (4, 5)], "a: a TPU does not compute in float64"),
        ([((3, 4), "complex64"), (4, 5)], "does not compute in complex64"),
        ([((3, 4), "bfloat17"), (4, 5)], "no shape"),
        ([(4.5, 3), (2, 2)], "no shape"),
        ("ab", "'ab' is no shape"),
        (None, "None is no shape"),
    ],
)
def test_bad_shapes_are_sentences(shapes, said):
    with pytest.raises(ValueError, match=said):
        compile_for_tpu(matmul, shapes)


def test_bad_words_are_sentences_with_the_good_ones():
    shapes = [(8, 8)] * 2
    with pytest.raises(ValueError, match=r"no topology 'v5:1x1'; near it: .*v5e:1x1"):
        compile_for_tpu(matmul, shapes, "v5:1x1")
    with pytest.raises(ValueError, match=r"no topology 7; near it"):
        compile_for_tpu(matmul, shapes, 7)
    with pytest.raises(ValueError, match="'auto', 'compiler' or 'snapshot'"):
        compile_for_tpu(matmul, shapes, source="guess")
    for bad, says in ({"source": ["auto"]}, "source is"), ({"timeout": -1}, "timeout is -1"):
        with pytest.raises(ValueError, match=says):
            compile_for_tpu(matmul, shapes, **bad)
    with pytest.raises(ValueError, match="3 is no shape"):
        compile_for_tpu(matmul, 3)
    with pytest.raises(ValueError, match="2 arguments need as many shardings, not 1"):
        compile_for_tpu(matmul, shapes, "v5e:2x2", shardings=[()])


def test_without_the_compiler_a_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setenv("LABKIT_TPU_COMPILER", "off")
    assert not compiler.installed()
    with pytest.raises(compiler.CompilerError, match=r"pip install jax libtpu.*source='snapshot'"):
        compile_for_tpu(matmul, [(8, 8)] * 2, source="compiler")


def test_shapes_are_taken_in_every_form_with_the_names_of_the_arguments():
    import jax

    def f(weights, x, bias):
        return x @ weights["w"] + bias

    forms = [{"w": (4, 8)}, ((2, 4), "float32"), jax.ShapeDtypeStruct((8,), "float32")]
    program = tracing.trace(f, forms)
    assert program.names == ["weights['w']", "x", "bias"]
    assert "weights['w']: bfloat16[4, 8], x: float32[2, 4]" in program.title
    assert tracing.trace(lambda x: x, (4, 8)).names == ["x"]


@needs_compiler
def test_tensorflow_and_keras_give_the_same_program_as_jax():
    tf = pytest.importorskip("tensorflow")
    device.strategy(1)  # before anything else starts TensorFlow, with one device for all tests
    shapes = [(512, 256), (256, 128)]
    ours = compile_for_tpu(matmul, shapes, source="compiler")
    theirs = compile_for_tpu(tf.function(matmul), shapes, source="compiler")
    assert theirs.estimated_cycles == ours.estimated_cycles
    assert theirs.flops == ours.flops
    keras = pytest.importorskip("keras")
    if keras.backend.backend() == "torch":
        pytest.skip("Keras runs on PyTorch here")
    dense = keras.Sequential([keras.Input((256,)), keras.layers.Dense(128, name="fc")])
    made = compile_for_tpu(dense, [((512, 256), "float32")], source="compiler")
    assert made.flops == pytest.approx(2 * 512 * 256 * 128, rel=0.01)
    assert {(256, 128), (128,)} <= {one.shape for one in made.padding[1:3]}
    assert [op.kind for op in made.ops if "fc" in op.layer] == ["matmul"]
    assert sum(a.padded_bytes for a in made.padding[:3]) == made.memory["argument"]


@needs_compiler
def test_a_result_takes_the_place_of_a_donated_argument():
    def update(w, g):
        return w - 0.1 * g

    shapes = [((1024, 1024), "float32")] * 2
    kept = compile_for_tpu(update, shapes, source="compiler")
    shared = compile_for_tpu(update, shapes, source="compiler", donate=(0,))
    assert "alias" not in kept.memory
    assert shared.memory["alias"] == kept.memory["output"] == 4 * 1024 * 1024
    assert shared.memory["argument"] == kept.memory["argument"] == 2 * kept.memory["output"]


@needs_compiler
def test_nothing_lies_where_others_can_read_it(tmp_path, monkeypatch):
    """libtpu would log its flags and the current folder among the temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    code = "from labkit.tpu import compile_for_tpu; from labkit.tpu.programs import matmul; "
    code += "compile_for_tpu(matmul, [(8, 8)] * 2, source='compiler')"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert [*tmp_path.iterdir()] == []


def test_where_the_compiler_crashes_the_snapshot_answers(monkeypatch):
    def crash(*given):
        raise compiler.CompilerCrash("signal 11")

    monkeypatch.setattr(compiler, "installed", lambda: True)
    monkeypatch.setattr(compiler, "ask", crash)
    monkeypatch.setattr(compiler.snapshot, "recall", lambda *given: {"source": "the snapshot"})
    monkeypatch.setattr(compiler, "report", lambda answer: answer["source"])
    program = (lambda x: x @ x), [(16, 16)]
    assert compile_for_tpu(*program) == "the snapshot"
    with pytest.raises(compiler.CompilerCrash, match="signal 11"):
        compile_for_tpu(*program, source="compiler")

    def nothing(*given):
        raise LookupError("not stored")

    monkeypatch.setattr(compiler.snapshot, "recall", nothing)
    with pytest.raises(compiler.CompilerCrash, match="signal 11"):
        compile_for_tpu(*program)
