# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   labkit:
#     title: Fine-tuning and compilers
#     number: 14
#     minutes: 52
#     needs: []
#     able: fine-tune a model through a few small matrices, and say which memory that spares; count the kernels that a compiler leaves of a model; time two versions so that others may believe it
#     runs_on: any CPU; ONNX Runtime comes as a package
# ---

# %% [markdown]
# # Fine-tuning and compilers
#
# **128 GB, to teach a model one new habit.**
# Llama 3.1 8B has 8.03 billion parameters.
# Training all of them with Adam takes 16 bytes for each, as in lesson 11 (*predicted*).
# An H100 SXM has 80 GB (*published* by [NVIDIA](https://resources.nvidia.com/en-us-tensor-core/gtc22-whitepaper-hopper)).
#
# ## What you will be able to do
#
# - fine-tune a model through a few small matrices, and say which memory that spares;
# - count what a compiler for inference does to a model;
# - time two versions of a model so that others may believe it.
#
# You need lessons [9](9_tensor_parallel.ipynb) for the GPT and [11](11_hybrid_and_sharded.ipynb) for the bytes of training.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# **Fine-tuning** trains a trained model a little more, on new text.
# Ours has read *Emma*, and now shall read it with `_` for every space.
# Its loss, in **nats** (the mean of -ln of the right character's probability), was 1.3 on the book, and is now 4.0.
# **LoRA** freezes the model, and trains small matrices beside it.
#
# A **kernel** is a small program: it reads numbers from memory, computes, and writes numbers, in one loop or several.
# `torch.compile` joins kernels.

# %%
from dataclasses import replace
from time import process_time

import numpy as np
import torch

from labkit import check, figures, hardware, hint, predict, quiz
from labkit.distributed.gpt.text import emma, encode
from labkit.distributed.gpt.training import Plan, evaluate, train
from labkit.distributed.gpt.weights import trained
from labkit.provenance import counted, measured
from labkit_lessons.distributed.fine_tuning_and_compilers import compiled, lora, onnx_runtime
from labkit_lessons.distributed.fine_tuning_and_compilers.step_memory import step_memory

torch.set_num_threads(1)
# STUB:
# guesses = {
#     "loss with LoRA": predict("distributed.lora_loss", None, "nats"),
#     "memory with LoRA": predict("distributed.lora_memory", None, "MB"),
#     "kernels": predict("distributed.fused_kernels", None, ""),
# }
# BEGIN SOLUTION
guesses = {
    "loss with LoRA": predict("distributed.lora_loss", 2.5, "nats"),
    "memory with LoRA": predict("distributed.lora_memory", 5, "MB"),
    "kernels": predict("distributed.fused_kernels", 3, ""),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### A layer that learns in a corner
#
# LoRA ([2021](https://arxiv.org/abs/2106.09685)) puts two narrow matrices beside a layer's frozen weights W[O,I]: A[r,I] and B[O,r].
# The number r is the **rank**, and alpha a constant:
#
# $$y = x W^T + \frac{\alpha}{r}\, x A^T B^T$$
#
# Take x = (1, 2, 3), W with the rows (1, 0, 0) and (0, 1, 0), r = 1 and alpha = 2.
# W alone gives (1, 2).
# With A = (1, 0, 1), x becomes 1 + 3 = 4.
# B, with the rows 1 and -1, makes (4, -4) of the 4; times alpha / r = 2, (8, -8).
# So y = (9, -6).
#
# Training begins with B = 0 and a random A, so the model is at first the old one.
# Only A and B learn: for a layer of 128 x 128 and r = 4, these are 1,024 numbers instead of 16,384.
# <!-- holds: [(layer.a.numel() + layer.b.numel(), layer.frozen.weight.numel()) for layer in [lora.adapt(trained(), rank=4, alpha=8).blocks[0].attention.query]] == [(1024, 16_384)] -->
#
# In the end, W + (alpha / r) B A is one matrix of W's shape: **merged**, the layer costs no more than before.
#
# **Exercise `distributed.lora_layer`**: return y, and the merged weights, both as arrays.


# %% tags=["exercise:distributed.lora_layer"]
def lora_layer(x, w, a, b, alpha):
    """x[n,I], frozen w[O,I], a[r,I], b[O,r], alpha -> y[n,O], merged[O,I]"""
    # STUB:
    # return None, None  # yours: the output, and one matrix that gives the same
    # BEGIN SOLUTION
    scale = alpha / len(a)
    y = x @ w.T + scale * (x @ a.T) @ b.T
    return y, w + scale * b @ a
    # END SOLUTION


lora_layer = check("distributed.lora_layer", lora_layer)

# %% [markdown]
# ### A stopwatch that others may believe
#
# Which function is faster?
# Five traps:
#
# | trap | remedy |
# |---|---|
# | the results differ | compare them first |
# | the first call compiles or allocates | a warm-up: call both once, untimed |
# | on a GPU, a call returns before its work is done | wait before reading a clock, also after the warm-up |
# | another program runs for a while | call both in turn, round by round |
# | one call is disturbed, or lucky | the median |
#
# **Exercise `distributed.compare`**: do all five.
# `first(x)` and `second(x)` return arrays of the same shape.
# Return None unless all numbers agree within 0.001; NaN agrees with nothing.
# Else return the medians of `rounds` calls of each; of an even number, that is the mean of the two in the middle.
# `clock()` gives seconds, and `wait()` returns when all work is done.


# %% tags=["exercise:distributed.compare"]
def compare(first, second, x, rounds, clock, wait):
    """two functions, their input, how many rounds, clock, wait -> seconds of each, or None"""
    # STUB:
    # return None  # yours: warm up, compare the results, then time both in turn
    # BEGIN SOLUTION
    same = np.allclose(first(x), second(x), rtol=0, atol=1e-3)
    wait()
    if not same:
        return None
    times_of_first, times_of_second = [], []
    for _ in range(rounds):
        for function, times in ((first, times_of_first), (second, times_of_second)):
            start = clock()
            function(x)
            wait()
            times.append(clock() - start)
    return np.median(times_of_first), np.median(times_of_second)
    # END SOLUTION


compare = check("distributed.compare", compare)

# %% [markdown]
# ## Check
#
# Does your layer agree with labkit's, on the GPT's real weights?
# `lora.adapt` puts LoRA into the query and value layers of all four blocks.

# %%
query = lora.adapt(trained(), rank=4, alpha=8).blocks[0].attention.query
torch.nn.init.normal_(query.b, generator=torch.Generator().manual_seed(1))  # 0 tests nothing
x = torch.linspace(-1, 1, 128)[None]
numbers = [tensor.detach().numpy() for tensor in (x, query.frozen.weight, query.a, query.b)]
y, merged = lora_layer(*numbers, alpha=8)
theirs = (query(x) - query.frozen.bias).detach().numpy()
print("LoRA, within 1e-4:", np.allclose(y, theirs, atol=1e-4))
print("merged, within 1e-4:", np.allclose(merged, query.merged().weight.detach(), atol=1e-4))

# %% [markdown]
# ## Measure
#
# ### Fine-tuning
#
# We train 40 steps of 8 sequences of 64 tokens, with all parameters and with LoRA; a third of each learning rate, or three times it, did worse.
# The loss is that of text that training never saw.


# %%
def with_underscores(tokens):
    space, underscore = encode(" _")
    return torch.where(tokens == space, underscore, tokens)


book, unseen = with_underscores(emma().train), with_underscores(emma().validation[:10_000])
plan = Plan(steps=40, sequences=8, length=64)
losses, peaks, rows = {}, {}, []
for name, rate in {"all parameters": 3e-4, "LoRA": 1e-2}.items():
    model = trained() if name == "all parameters" else lora.adapt(trained(), rank=4, alpha=8)
    train(model, book, replace(plan, learning_rate=rate))
    losses[name] = evaluate(model, unseen, length=64)
    memory, kept = step_memory(model, *plan.batch_of(0, book))
    peaks[name] = memory.peak
    parts = [*kept.values(), memory.peak_activations, memory.peak]  # as in `heads`
    in_bytes = [counted(part, "B", "`counted_bytes`") for part in parts]
    rows.append([name, lora.learning(model), round(losses[name], 1), *in_bytes])
heads = ["", "learning", "loss", "weights", "gradients", "moments", "most activations", "peak"]
figures.table(heads, rows, "Loss in nats. At the peak there are hardly any gradients yet.")
print("losses within 0.1 nats:", abs(losses["LoRA"] - losses["all parameters"]) < 0.1)

# %% [markdown]
# LoRA comes within 0.1 nats of full training, with 1 % of the parameters.
# <!-- holds: abs(losses["LoRA"] - losses["all parameters"]) < 0.1 and round(100 * rows[1][1] / rows[0][1]) == 1 -->
# Gradients and moments shrink to a hundredth, but the peak only by 41 %.
# <!-- holds: [round(100 * rows[1][place].value / rows[0][place].value) for place in (4, 5)] == [1, 1] and round(100 * (1 - peaks["LoRA"] / peaks["all parameters"])) == 41 -->
#
# Most of the peak is activations, and LoRA spares 29 % of these.
# <!-- holds: min(row[6].value / row[7].value for row in rows) > 0.5 and round(100 * (1 - rows[1][6].value / rows[0][6].value)) == 29 -->
# The backward still passes through every layer, down to the first query.
# LoRA spares only what was kept for the gradients of W: the inputs that only layers without LoRA need.
# With a large model and a small batch it spares more.
# Of Llama's 128 GB, 16 would remain for frozen weights in bfloat16, and 27 MB for LoRA of rank 4 in query and value, besides activations (*predicted*).
# **QLoRA** ([2023](https://arxiv.org/abs/2305.14314)) freezes them in 4.127 bits each, scales included: 5.7 GB, with embedding and head in bfloat16 (*predicted*).
#
# ### What a compiler does
#
# PyTorch normally runs operator by operator: **eager** mode.
# `torch.compile` sees a function's operators together, and can **fuse** some: one generated kernel does the work of several, and most of the numbers between them stay out of memory.
#
# ONNX is a file format for a graph of operators, its **nodes**.
# **ONNX Runtime** rewrites such a graph and runs it without PyTorch.
# Nodes that only reshape write nothing; the others are kernels.

# %%
whole = trained()
block, x = whole.blocks[0], torch.randn(1, 128, 128, generator=torch.Generator().manual_seed(0))
fast = compiled.compiled(block, x)
with torch.no_grad():
    same = torch.allclose(fast.output, block(x), atol=1e-3)
rows = [["a block, eager", len(compiled.operators_of(block, x)), None]]
rows.append(["a block, torch.compile", len(fast.kernels), same])
tokens = emma().validation[:128][None]
rows.append(["GPT, eager", len(compiled.operators_of(whole, tokens)), None])
graph = onnx_runtime.exported(whole, tokens)
plain = onnx_runtime.Session(graph, optimise=False)
rewritten = onnx_runtime.Session(graph)
for name, session in {"GPT, as exported": plain, "GPT, rewritten": rewritten}.items():
    same = torch.allclose(session(tokens), whole(tokens), atol=1e-3)
    rows.append([name, onnx_runtime.computing(session.nodes), same])
note = "Counted. The export splits products from biases, and copies what PyTorch only views."
figures.table(["", "kernels", "as eager, within 0.001"], rows, note)
print(*[name for name in fast.kernels if "fused" in name], sep="\n")
print("exported: ", plain.nodes)
print("rewritten:", rewritten.nodes)

# %% [markdown]
# In eager mode, a block has 8 matrix products and 11 other kernels.
# <!-- holds: rows[0][1] == 8 + 11 and sum(operator.split(".")[0] in ("mm", "addmm", "bmm") for operator in map(str, compiled.operators_of(block, x))) == 8 -->
# The compiler leaves the 8 to a library, and makes 6 kernels of the 11, each of one or more loops.
# <!-- holds: [sum("fused" in name for name in fast.kernels), sum("fused" not in name for name in fast.kernels)] == [6, 8] -->
# The second kernel makes the mask (`ones`, `triu`), then scales (`div`), masks and takes the softmax: five operators (here in two loops, between which the softmax's exponentials lie in memory).
# <!-- holds: sum(word in [name for name in fast.kernels if "fused" in name][1] for word in ("ones", "triu", "div", "masked", "softmax")) == 5 -->
#
# ONNX Runtime joins 24 biases to their products (`Gemm`), 4 scalings (`FusedMatMul`) and a sum (`SkipLayerNormalization`), and computes 4 masks and a lookup beforehand: 34 kernels fewer.
# <!-- holds: [rewritten.nodes[name] for name in ("Gemm", "FusedMatMul", "SkipLayerNormalization")] == [24, 4, 1] and "Trilu" not in rewritten.nodes -->
# <!-- holds: plain.nodes["Trilu"] == 4 and plain.nodes["Gather"] - rewritten.nodes["Gather"] == 1 and rows[3][1] - rows[4][1] == 34 == 24 + 4 + 1 + 4 + 1 -->
#
# ### Seconds
#
# Now your stopwatch, in processor time: other programs hardly count.
# On a CPU there is nothing to wait for.


# %% tags=["timing", "nbval-ignore-output"]
def clock():
    return process_time()  # seconds of a processor, for this program alone


def nothing():
    """On a GPU: torch.cuda.synchronize()."""


def as_numpy(function):
    return lambda x: function(x).numpy()


where = hardware.this_machine().name
pairs = {"a block: eager, torch.compile": (block, fast.run, x)}
pairs["GPT: eager, as exported"] = (whole, plain, tokens)
pairs["GPT: as exported, rewritten"] = (plain, rewritten, tokens)
for name, (first, second, given) in pairs.items():
    with torch.no_grad():
        pair = compare(as_numpy(first), as_numpy(second), given, 21, clock, nothing)
    print(name, *(measured(seconds, "s", where) for seconds in pair), sep="\n    ")

# %% [markdown]
# Your times will be others; the compiled block and the rewritten graph may be slower.
# The exported graph has 31 kernels more than eager mode, and may still take less time.
# <!-- holds: rows[3][1] - rows[2][1] == 31 -->
# Count kernels, but time them, too.
#
# ## Explain

# %% tags=["picture"]
results = {
    "loss with LoRA": counted(round(losses["LoRA"], 1), "nats", "of unseen text"),
    "memory with LoRA": counted(round(peaks["LoRA"] / 1e6, 1), "MB", "`counted_bytes`"),
    "kernels": counted(len(fast.kernels), "", "the generated code"),
}
figures.guesses([(name, guesses[name], results[name]) for name in results])

# %% [markdown]
# Here no generated kernel reaches across a matrix product, a library's call: so 14.
# <!-- holds: results["kernels"].value == 14 == 8 + 6 -->
#
# ## On trial
#
# ### <a id="C22"></a>C22 on trial
#
# > The output has the expected shape, so inference was accelerated
#
# Three "accelerated" blocks: the compiled one, one that returns zeros, and one that does everything twice.


# %%
def zeros(x):
    return torch.zeros_like(x)


def twice(x):
    block(x)
    return block(x)


rows = []
for name, function in {"compiled": fast.run, "zeros": zeros, "twice": twice}.items():
    with torch.no_grad():
        y, expected = function(x), block(x)
    kernels = fast.kernels if name == "compiled" else compiled.operators_of(function, x)
    same = torch.allclose(y, expected, atol=1e-3)
    rows.append([name, y.shape == expected.shape, same, len(kernels)])
note = "Kernels are counted; the block in eager mode has 19."
figures.table(["block", "expected shape", "expected numbers", "kernels"], rows, note)

# %% [markdown]
# **Verdict on C22: wrong.**
# All three have the shape; one computes nothing, and one twice as much.
# <!-- holds: [row[1] for row in rows] == [True] * 3 and [row[2] for row in rows] == [True, False, True] -->
# <!-- holds: rows[2][3] == 2 * len(compiled.operators_of(block, x)) -->
# Compare numbers first, then time both in turn.
#
# ### <a id="C15"></a>C15 on trial
#
# > OpenAI built the Ascend processor; NNVM comes from Huawei; Facebook built the "ZionEX SOC"; TVM and "Apache TVM" are two compilers; AWS offers Elastic Inference
#
# We looked it up in November 2026: [Ascend](https://www.scmp.com/tech/big-tech/article/3024064/huawei-unveils-new-ai-chip-aimed-growing-its-share-booming-cloud), [NNVM](https://tvm.apache.org/2017/10/06/nnvm-compiler-announcement), [ZionEX](https://research.facebook.com/publications/software-hardware-co-design-for-fast-and-scalable-training-of-deep-learning-recommendation-models/), [TVM](https://github.com/apache/tvm), [Elastic Inference](https://docs.aws.amazon.com/cli/latest/reference/elastic-inference/index.html).

# %%
facts = [
    ["Ascend was built by", "OpenAI", "Huawei", "the Ascend 910: shown in 2018, launched in 2019"],
    ["NNVM comes from", "Huawei", "University of Washington and Amazon", "2017"],
    ["ZionEX is", "an SOC", "a platform", "Facebook's: 16 nodes had 128 GPUs"],
    ["TVM and Apache TVM are", "two", "one", "first dmlc/tvm, now apache/tvm"],
    ["AWS's Elastic Inference is", "offered", "no longer available", "AWS says so"],
]
rows = [[about, said, found, said == found, more] for about, said, found, more in facts]
heads = ["", "the claim", "the page", "same", "more"]
figures.table(heads, rows, "Published in the pages above.")
print("true:", sum(same for _, _, _, same, _ in rows), "of", len(rows))

# %% [markdown]
# **Verdict on C15: wrong.**
# None of its five parts is so.
# <!-- holds: sum(same for _, _, _, same, _ in rows) == 0 and len(rows) == 5 -->
#
# ## Recap
#
# LoRA shrinks gradients and moments to a hundredth here, but activations by 29 % only; merged, it costs nothing more.
# <!-- holds: round(100 * (1 - memory.peak_activations / step_memory(trained(), *plan.batch_of(0, book))[0].peak_activations)) == 29 -->
# <!-- holds: round(100 * list(kept.values())[1] / list(step_memory(trained(), *plan.batch_of(0, book))[1].values())[1]) == 1 and query.merged().weight.shape == query.frozen.weight.shape -->
#
# **The rule to keep: rank r trains r (I + O) numbers instead of I x O; for 128 x 128 and r = 4 that is 1 / 16.**
# <!-- holds: query.a.numel() + query.b.numel() == 4 * (128 + 128) == query.frozen.weight.numel() / 16 -->
#
# ### Outside
#
# The package `peft` (not run here) has LoRA: `get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=["query", "value"]))`, and `merge_and_unload()`.
# For inference, weights may be kept in one byte each, as chapter 3's [int8](../03_fpga/1_int8_from_the_formula.ipynb), or in half a byte.
# For one request on an A100 limited to 330 W, [gpt-fast](https://github.com/pytorch-labs/gpt-fast) decodes Llama 2 7B so: 104.9 tokens a second in bfloat16, 155.6 with int8 and 196.8 with int4 (*published*).
# That is 1.5 and 1.9 times the speed, for 1.9 and 3 times fewer bytes a token, perhaps because each weight becomes a float again before it is multiplied.
#
# `TORCH_LOGS=output_code python program.py` prints the kernels that `torch.compile` generates.
#
# TensorRT (not run here) times several kernels for each layer ([NVIDIA](https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/builder-performance.html)), and what it builds, its *engine*, by default runs on no other [architecture of GPU](https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/getting-started/support-matrix.html) than that on which it was built.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_lora_state", None)
# quiz("distributed.quiz_speedup", None)
# BEGIN SOLUTION
quiz("distributed.quiz_lora_state", "b")
quiz("distributed.quiz_speedup", "d")
# END SOLUTION
