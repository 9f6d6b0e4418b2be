"""labkit.tpu.bundles: what is read from a dump, against counts by hand and by the compiler."""

import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("jax")

from labkit.tpu import bundles, compile_for_tpu, compiler, snapshot
from labkit.tpu.tiled import layer_step, tiled
from labkit.tpu.tracing import trace

# A loop of 3 * 2 steps, bundles 0x1 to 0xf: a stretch 0x7 to 0x9 can be skipped and multiplies
# nothing; a stretch 0xb is skipped by a branch, and multiplies.
DUMP = """\
= control target key start
LB: loop body
= control target key end

     0   :  { %s0 = hbm } /* entry bundle: %mine.1 = custom-call(%a) */
   0x1 LB: > { %s1 = smov 0 }
   0x2   : > { %2 = sbr.rel (%p1) target bundleno = 12 (0xc), region = 7 }
   0x3   :  {}
   0x4   :  {}
   0x5   :  {}
   0x6   : > { %s3 = smov 1
iteration_bounds: (3, 2)
 */ }
   0x7   : > { %9 = vst 0 }
   0x8   : > { %9 = vst 0 }
   0x9   : > { %9 = vst 0 }
   0xa PF: > { %4 = sbr.rel (!%p2) target bundleno = 20 (0x14), region = 8 } /* Start/End empty
region 7 */
   0xb   : > { %s4 = smov 3 }
   0xc   : > { %s4 = smov 3 }
   0xd   : > { %s4 = smov 3 }
   0xe   : > { %s4 = smov 3 }
   0xf   : > { %9 = vmatmul.bf16.mxu0 %v1 }
  0x10 PF: > { %20 = sbr.rel (!%p3) target bundleno = 1 (0x1), region = 9 } /* Start/End empty
region 8 */
  0x11   :  {}
  0x12   :  {}
  0x13   :  {}
  0x14   :  {}
  0x15   :  { %s9 = smov 0 } /* exit bundle: %mine.1 */
""".replace("empty\n", "empty ")
MEMORY = """\
  #allocation1 [shape = 'u32[72,128]', space=vmem, size = 0x9000, tag = 'internal scratch']
  #allocation2 [shape = 'f32[8,128]', space=vmem, size = 0x1000, tag = 'scratch operand']
  #allocation3 [shape = 'u8[512]', space=vmem, size = 0x200, tag = 'operand span for operand 0']
  #allocation4 [shape = 's32[2]', space=sflag, size = 0x8, tag = 'scoped memory for mine.1']
  #allocation9_spill [shape = 'u32[8,128]', space=vmem, size = 0x1000, tag = 'spilled vreg/vmreg']
"""
BLOCKS = (8, 128, 128)
SHAPES = [(16, 256), (256, 384), ((1, 384), "float32")]


def layer(blocks=BLOCKS):
    return tiled(layer_step(), blocks, bias=True)


def test_a_dump_is_read_as_by_hand():
    kernel = bundles.read(DUMP, MEMORY)
    # 22 bundles, 0x0 to 0x15; the loop is 0x1 to 0x14, less the 3 that can be skipped
    assert kernel == ("mine.1", 22, 20 - 3, 6, 0x1000 + 0x200, 0x1000)
    assert kernel.cycles == 6 * 17


def test_a_stretch_that_multiplies_is_not_skipped():
    more = bundles.read(DUMP.replace("0x8   : > { %9 = vst 0", "0x8   : > { %9 = vmatmul"))
    assert more.step == 20


def test_a_kernel_of_one_step_counts_whole():
    text = DUMP.replace("iteration_bounds: (3, 2)\n", "").replace("sbr.rel", "nop")
    assert bundles.read(text)[1:4] == (22, 22, 1)


@pytest.mark.parametrize("text", ["", "entry bundle: %x = custom-call(", "something else"])
def test_a_changed_dump_is_a_sentence(text):
    with pytest.raises(ValueError, match="its text has changed"):
        bundles.read(text)


def test_only_own_kernels_are_read(tmp_path):
    (tmp_path / "12-mine.1-70-final_bundles.txt").write_text(DUMP)
    (tmp_path / "12-mine.1-64-post-bundle-packing-post-ra.txt").write_text(MEMORY)
    other = DUMP.replace("custom-call(", "fusion(")
    (tmp_path / "12-fusion-70-final_bundles.txt").write_text(other)
    (kernel,) = bundles.kernels_in(tmp_path)
    assert (kernel.name, kernel.vmem) == ("mine.1", 0x1200)


def test_the_fingerprint_is_that_of_the_kernel():
    def found(f, shapes=SHAPES):
        return trace(f, shapes).fingerprint

    same = found(layer())
    assert found(layer()) == same
    other_index = tiled(
        layer_step(), BLOCKS, bias=True, indices=lambda i, j, k: ((i, k), (k, j), (i, 0))
    )
    other_step = tiled(layer_step(lambda x, w, k: (2 * x, w)), BLOCKS, bias=True)
    others = [found(layer((8, 256, 128))), found(other_index), found(other_step)]
    assert len({same, *others}) == 4


def test_another_process_finds_the_same_fingerprint(tmp_path):
    code = (
        "from labkit.tpu import tracing\nfrom labkit.tpu.tiled import layer_step, tiled\n"
        f"f = tiled(layer_step(), {BLOCKS}, bias=True)\n"
        f"print(tracing.trace(f, {SHAPES}).fingerprint)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == trace(layer(), SHAPES).fingerprint


def test_the_snapshot_answers_with_bundles_only_where_it_has_them():
    shapes = [(2048, 2048), (2048, 2048), ((1, 2048), "float32")]
    f = layer((128, 128, 128))
    made = compile_for_tpu(f, shapes, source="snapshot", bundles=True)
    (kernel,) = made.kernels
    assert kernel.steps == 16**3 and 0 < kernel.step < kernel.bundles
    assert kernel.vmem == 2 * (3 * 128 * 128 * 2 + 128 * 4) + 128 * 128 * 4
    with pytest.raises(compiler.TPUOutOfMemory, match=r"16.01M and limit 16.00M .* by 8.0K"):
        compile_for_tpu(layer((1024, 1024, 1024)), shapes, source="snapshot", bundles=True)
    square = [(2048, 2048), (2048, 2048)]
    without = [key for key, one in snapshot.stored()["entries"].items() if "kernels" not in one]
    key = next(key for key in without if not key.startswith("ResNet"))
    fingerprint, _, topology = key.rpartition(" ")
    with pytest.raises(LookupError):
        snapshot.recall(fingerprint, topology, str(square), bundles=True)


@pytest.mark.skipif(not compiler.installed(), reason="no TPU compiler here")
def test_bundles_and_steps_of_a_compiled_kernel(tmp_path, monkeypatch):
    """The compiler writes a row for each bundle in another file, too: of what is busy in it."""
    monkeypatch.setattr(compiler.tempfile, "TemporaryDirectory", lambda: _Kept(tmp_path))
    made = compile_for_tpu(layer(), SHAPES, source="compiler", bundles=True)
    (kernel,) = made.kernels
    rows = [*tmp_path.glob(f"*-{kernel.name}-*-final_hlo-static-per-bundle-utilization.txt")]
    table = rows[0].read_text().partition("== UTILIZATION:")[2]
    counted = [line for line in table.splitlines() if re.fullmatch(r"[\d ]+", line)]
    assert kernel.bundles == len(counted)
    assert kernel.steps == (16 // 8) * (384 // 128) * (256 // 128)
    assert kernel.vmem == 2 * (2 * (8 * 128 + 128 * 128 + 8 * 128) + 4 * 128) + 4 * 8 * 128
    assert 0 < kernel.step < kernel.bundles
    assert "LIBTPU_INIT_ARGS" not in os.environ, "the flags are the child's alone"


class _Kept:
    """A folder that stays."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        return str(self.path)

    def __exit__(self, *_):
        return False
