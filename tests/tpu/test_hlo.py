"""labkit.tpu.hlo reads the compiler's text: what is counted, what is not, how bytes are padded."""

import pytest

from labkit.tpu import hlo

TEXT = """\
HloModule jit_f, is_scheduled=true

%inner (p: bf16[8,128]) -> bf16[8,128] {
  %p = bf16[8,128]{1,0:T(8,128)(2,1)} parameter(0)
  ROOT %deep = bf16[8,128]{1,0:T(8,128)(2,1)} copy(%p), X="estimated_cycles":"1000000"
}

%product (a: bf16[8,128], b: bf16[128,10]) -> bf16[8,10] {
  %a = bf16[8,128]{1,0:T(8,128)(2,1)} parameter(0)
  %b = bf16[128,10]{1,0:T(8,128)(2,1)} parameter(1)
  %c = bf16[8,128]{1,0:T(8,128)(2,1)} fusion(%a), kind=kLoop, calls=%inner
  %dot = bf16[8,10]{1,0:T(8,128)(2,1)} convolution(%c, %b), dim_labels=bf_io->bf
  ROOT %most = bf16[8,10]{1,0:T(8,128)(2,1)} maximum(%dot, %dot)
}

%window (x: bf16[2,9,9,4], w: bf16[3,3,4,8]) -> bf16[2,9,9,8] {
  %x = bf16[2,9,9,4]{3,2,1,0:T(4,128)(2,1)} parameter(0)
  %w = bf16[3,3,4,8]{3,2,1,0:T(4,128)(2,1)} parameter(1)
  ROOT %conv = bf16[2,9,9,8]{3,0,2,1:T(2,128)(2,1)} convolution(%x, %w), window={size=3x3}
}

%sums (q: (f32[7], s32[])) -> (f32[7], s32[]) {
  %q = (f32[7]{0:T(128)}, s32[]{:T(128)}) parameter(0)
  ROOT %t = (f32[7]{0:T(128)}, s32[]{:T(128)}) fusion(%q), kind=kLoop, calls=%inner, \
    backend_config={"window_config":{"estimated_cycles":"500"}}
}

ENTRY %main (Arg_0.1: bf16[8,128], Arg_1.2: bf16[128,10]) -> bf16[8,10] {
  %Arg_1.2 = bf16[128,10]{1,0:T(8,128)(2,1)} parameter(1), sharding={replicated}
  %Arg_0.1 = bf16[8,128]{1,0:T(8,128)(2,1)} parameter(0), \
    metadata={op_name="x"}
  %copy-start = (bf16[8,128]{1,0:T(8,128)(2,1)S(1)}, bf16[8,128]{1,0:T(8,128)(2,1)}, \
    u32[]{:S(2)}) copy-start(%Arg_0.1)
  %copy-done = bf16[8,128]{1,0:T(8,128)(2,1)S(1)} copy-done(%copy-start)
  %both = (bf16[8,10]{1,0:T(8,128)(2,1)}, f32[3]{0:T(128)S(1)}) \
    fusion(%copy-done, %Arg_1.2), kind=kOutput, calls=%product, \
    metadata={op_name="jit(call)/call_exported/jit(f)/fc/jit(relu)/max" source_line=3}, \
    backend_config={"window_config":{"estimated_cycles":"2000"}}
  %conv.1 = bf16[2,9,9,8]{3,0,2,1:T(2,128)(2,1)} fusion(%both), kind=kOutput, calls=%window, \
    metadata={op_name="jit(f)/transpose(jvp(conv1))/conv"}, \
    backend_config={"window_config":{"estimated_cycles":"30"}}
  %loop = (f32[7]{0:T(128)}, s32[]{:T(128)}) while(%both), condition=%inner, body=%sums
  %all-reduce.3 = (bf16[8,10]{1,0:T(8,128)(2,1)}, f32[3]{0:T(128)}) \
    all-reduce(%both, %loop), \
    replica_groups=[2,4]<=[8], to_apply=%inner
  %gather = f32[6]{0:T(128)} all-gather(%loop), replica_groups={{0,1,2},{3,4,5}}, dimensions={0}
  ROOT %out = bf16[8,10]{1,0:T(8,128)(2,1)} get-tuple-element(%both), index=0
}
"""


def test_only_what_the_entry_runs_is_counted_and_each_once():
    ops = hlo.parse(TEXT, ["x", "w"])["ops"]
    assert [(op.name, op.cycles) for op in ops] == [
        ("copy-start", None),
        ("both", 2000),  # not what lies inside it, too
        ("conv.1", 30),
        ("loop", None),  # its trips are not written, so its body's 500 stand for nothing
        ("all-reduce.3", None),
        ("gather", None),
    ]


def test_an_operation_tells_its_kind_and_the_layer_it_comes_from():
    ops = {op.name: op for op in hlo.parse(TEXT, ["x", "w"])["ops"]}
    assert ops["both"].kind == "matmul"  # a convolution without a window, although maximum is last
    assert ops["conv.1"].kind == "convolution"
    assert ops["loop"].kind == "while"
    assert ops["both"].layer == "fc/max"
    assert ops["conv.1"].layer == "transpose(jvp(conv1))/conv"


def test_arrays_are_the_arguments_in_their_order_then_what_is_written():
    padding = hlo.parse(TEXT, ["x", "w"])["padding"]
    assert [one.name for one in padding[:4]] == ["x", "w", "fc/max", "fc/max"]
    assert (padding[1].shape, padding[1].dtype) == ((128, 10), "bf16")
    assert (padding[1].layout, padding[1].order) == ("T(8,128)(2,1)", "1,0")
    assert (padding[1].logical_bytes, padding[1].padded_bytes) == (2560, 128 * 128 * 2)
    assert padding[1].waste == 1 - 10 / 128
    assert [one.memory for one in padding[2:4]] == ["HBM", "VMEM"]
    assert "copy-start" not in {one.name for one in padding}


def test_collectives_carry_their_bytes_and_how_many_take_part():
    reduce, gather = hlo.parse(TEXT, ["x", "w"])["collectives"]
    assert reduce == ("all-reduce", "bf16[8, 10] f32[3]", 8 * 10 * 2 + 12, 4)
    assert gather == ("all-gather", "f32[6]", 24, 3)


GROUPS = "channel_id=7, replica_groups=[1,4]<=[4], use_global_device_ids=true"
BESIDE = """\
%beside (p: bf16[1,8]) -> bf16[4,8] {
  %p = bf16[1,8]{1,0} parameter(0)
  ROOT %inner = bf16[4,8]{1,0} OPCODE(%p), GROUPS
}
"""
SENT = "(bf16[1,8]{1,0}, bf16[4,8]{1,0}, u32[]{:S(2)})"  # what is given, the result, a flag


def asynchronous(opcode, started, beside=""):
    """A program that starts an exchange, multiplies, and ends it."""
    text = f"""{beside}
ENTRY %main (x: bf16[1,8]) -> bf16[4,8] {{
  %x = bf16[1,8]{{1,0}} parameter(0)
  %{opcode}-start.2 = {started} {opcode}-start(%x), GROUPS
  %y = bf16[1,8]{{1,0}} multiply(%x, %x)
  ROOT %{opcode}-done.2 = bf16[4,8]{{1,0}} {opcode}-done({started} %{opcode}-start.2)
}}
"""
    return text.replace("GROUPS", GROUPS).replace("OPCODE", opcode)


@pytest.mark.parametrize("beside", ["", BESIDE])
@pytest.mark.parametrize(
    ("opcode", "started"),
    [
        ("all-gather", SENT),
        ("all-reduce", "bf16[4,8]{1,0}"),
        ("collective-permute", SENT),
        ("reduce-scatter", SENT),
        ("all-to-all", SENT),
    ],
)
def test_an_asynchronous_exchange_is_counted_once_with_the_bytes_of_its_result(
    opcode, started, beside
):
    found = hlo.parse(asynchronous(opcode, started, beside), ["x"])["collectives"]
    assert found == [(opcode, "bf16[4, 8]", 4 * 8 * 2, 4)]


def test_exchanges_on_two_channels_or_without_one_are_two():
    text = asynchronous("all-gather", SENT)
    again = "  %more = bf16[4,8]{1,0} all-gather(%x), CHANNEL\n  ROOT"
    for channel, count in (("channel_id=8", 2), ("dimensions={0}", 2), ("channel_id=7", 1)):
        changed = text.replace("  ROOT", again.replace("CHANNEL", channel))
        assert len(hlo.parse(changed, ["x"])["collectives"]) == count
    other_kind = text.replace("  ROOT", again.replace("all-gather", "all-reduce"))
    assert len(hlo.parse(other_kind.replace("CHANNEL", GROUPS), ["x"])["collectives"]) == 2


def test_an_exchange_that_a_computation_of_its_own_wraps_is_counted_once():
    """XLA writes any operation as asynchronous in this way: `async-start` calls what it starts."""
    text = (
        BESIDE.replace("OPCODE", "all-to-all").replace("GROUPS", GROUPS)
        + """
ENTRY %main (x: bf16[1,8]) -> bf16[4,8] {
  %x = bf16[1,8]{1,0} parameter(0)
  %begun = ((bf16[1,8]{1,0}), bf16[4,8]{1,0}, u32[]) async-start(%x), calls=%beside
  ROOT %ended = bf16[4,8]{1,0} async-done(%begun), calls=%beside
}
"""
    )
    found = hlo.parse(text, ["x"])["collectives"]
    assert found == [("all-to-all", "bf16[4, 8]", 4 * 8 * 2, 4)]


SCATTER = """\
%all-reduce-scatter.1 (input: bf16[8,8]) -> bf16[2,8] {
  %input = bf16[8,8]{1,0} parameter(0)
  %all-reduce.4 = bf16[8,8]{1,0} all-reduce(%input), GROUPS, to_apply=%add
  ROOT %own = bf16[2,8]{1,0} dynamic-slice(%all-reduce.4, %at), dynamic_slice_sizes={2,8}
}

ENTRY %main (x: bf16[8,8]) -> bf16[2,8] {
  %x = bf16[8,8]{1,0} parameter(0)
  %early = bf16[8,8]{1,0} all-reduce(%x), channel_id=9, replica_groups=[1,4]<=[4], to_apply=%add
  ROOT %fusion = bf16[2,8]{1,0} fusion(%early), kind=kCustom, calls=%all-reduce-scatter.1
}
"""


def test_a_reduce_scatter_that_is_a_fusion_is_no_all_reduce():
    """XLA cuts an all-reduce down to the part that a device keeps; only that is its result."""
    found = hlo.parse(SCATTER.replace("GROUPS", GROUPS), ["x"])["collectives"]
    assert found == [
        ("all-reduce", "bf16[8, 8]", 8 * 8 * 2, 4),
        ("reduce-scatter", "bf16[2, 8]", 2 * 8 * 2, 4),
    ]


@pytest.mark.parametrize(
    ("dtype", "dims", "layout", "logical", "padded"),
    [
        ("bf16", "1024,1024", "1,0:T(8,128)(2,1)", 2**21, 2**21),
        ("bf16", "4096,1025", "1,0:T(8,128)(2,1)", 4096 * 1025 * 2, 4096 * 1152 * 2),
        ("bf16", "4096,1025", "0,1:T(8,128)(2,1)", 4096 * 1025 * 2, 4096 * 1032 * 2),
        # 56 x 32 of the last two in memory, whichever dimensions these are
        ("bf16", "32,56,56,64", "3,2,1,0:T(8,128)(2,1)", 12845056, 32 * 56 * 56 * 128 * 2),
        ("bf16", "32,9,56,64", "3,1,0,2:T(8,128)(2,1)", 2064384, 56 * 32 * 16 * 128 * 2),
        ("f32", "3,3,3,32", "3,2,1,0:T(4,128)", 3456, 3 * 3 * 4 * 128 * 4),
        ("f32", "7", "0:T(128)", 28, 512),
        ("bf16", "", ":T(256)", 2, 512),  # a single number
        ("f32", "5,6", "1,0", 120, 120),  # not tiled
        ("s8", "10,10", "1,0:T(8,128)(4,1)S(1)", 100, 16 * 128),
        ("bf16", "3,10", "1,0:T(1,128)(2,1)", 60, 3 * 2 * 128 * 2),  # a tile of tiles fills up, too
        ("pred", "9", "0:T(512)", 9, 512),
        ("s4", "8,128", "1,0:T(8,128)(8,1)", 512, 512),
    ],
)
def test_padded_bytes_follow_from_the_tiles(dtype, dims, layout, logical, padded):
    made = hlo.array("x", dtype, dims, layout)
    assert (made.logical_bytes, made.padded_bytes) == (logical, padded)


@pytest.mark.parametrize(
    ("layout", "axes", "tile"),
    [
        ("1,0:T(8,128)(2,1)S(1)", (1, 0), (8, 128)),
        ("0,2,3,1:T(4,128)", (0, 2, 3, 1), (4, 128)),
        ("0:T(256)(128)(2,1)", (0,), (256,)),
        (":T(128)", (), (128,)),
        ("1,0", (1, 0), ()),
    ],
)
def test_order_and_tile_can_be_had_as_numbers(layout, axes, tile):
    array = hlo.array("x", "bf16", "4" + ",4" * (len(axes) - 1) if axes else "", layout)
    assert array.axes == axes and array.tile == tile
