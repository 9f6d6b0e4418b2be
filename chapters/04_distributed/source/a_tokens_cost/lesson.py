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
#     title: A token's cost
#     number: 13
#     minutes: 57
#     needs: []
#     able: count the FLOPs and bytes of a language model's token, and have PyTorch confirm them; write attention with a KV cache, so that no token is computed twice; say for any machine what limits prefill and decode, and how many sequences fit
#     runs_on: any CPU
# ---

# %% [markdown]
# # A token's cost
#
# **66,000 tokens a second by its arithmetic, and, step by step with two bytes a weight, at most 223.**
# An H100 does 989 x 10¹² FLOPs a second with numbers of two bytes (*published*); a **FLOP** is one multiplication or one addition.
# The language model Llama 3.1 8B needs 15 x 10⁹ for its next token, which would make 66,000 tokens a second (*predicted*).
# But a single reader, with weights of two bytes and a token in each step, gets 223 at most (*predicted*).
# What does the chip wait for?
#
# ## What you will be able to do
#
# - count a token's FLOPs and bytes, and have PyTorch confirm them;
# - write attention with a cache, so that no token is computed twice;
# - say for any machine what limits a step, and how many sequences fit.
#
# You need lessons [9](9_tensor_parallel.ipynb) for the GPT and [11](11_hybrid_and_sharded.ipynb) for the bytes of training.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A language model first reads its prompt, all tokens in one step: the **prefill**.
# Then it writes one token after the other, and each is a step of **decode**.
# A **cache** can keep what later tokens need of earlier ones.
#
# 1. Our small GPT, now with room for 1,024 tokens, has read 999.
#    With a cache, a step computes token number 1,000 alone; without, all 1,000 again.
#    How many times as fast is it with the cache, on this computer?
# 2. A GPT of 76 million weights decodes 64 sequences in one step: one more token in each.
#    How many times as long does that take as a step for one sequence?

# %%
import numpy as np
import torch

from labkit import check, figures, hint, predict, quiz
from labkit.distributed.costs.language_models import LanguageModel, language_model
from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.gpt.weights import trained
from labkit.provenance import counted, measured, predicted
from labkit_lessons.distributed.a_tokens_cost import cache, generation
from labkit_lessons.distributed.a_tokens_cost.counted_step import counted_again, counted_step

torch.set_num_threads(1)  # all on one core
# STUB:
# guesses = {
#     "with the cache": predict("distributed.cached_step", None, "times"),
#     "64 sequences": predict("distributed.sixty_four_sequences", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "with the cache": predict("distributed.cached_step", 1000, "times"),
    "64 sequences": predict("distributed.sixty_four_sequences", 64, "times"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### FLOPs
#
# A **layer** of such a model is one of lesson 9's blocks.
# Each new token is multiplied with all weights but the embedding's, where it only looks up a row (in GPT-2, this matrix is also the last layer, and counts there): one multiplication and one addition for each weight, 2 FLOPs.
# Llama 3.1 8B multiplies with 7.5 of 8 billion.
# <!-- holds: [round(language_model("llama31_8b").matmul_parameters / 1e9, 1), round(language_model("llama31_8b").weight_bytes(1) / 1e9)] == [7.5, 8] -->
# <!-- holds: [language_model(key).tied for key in ("gpt2", "llama31_8b")] == [True, False] -->
#
# In attention, lesson 9's `Q`, `K` and `V` give each token three rows of numbers: its **query**, its **key** and its **value**.
# A new token's query is multiplied with the keys of all tokens so far.
# The results say how much it reads of each token's value.
# So in each layer, each number of a query costs 4 FLOPs for each token: 2 with its key, 2 with its value.
#
# A model has 100 weights, 2 layers, and queries of 3 numbers, all heads together.
# It has read 4 tokens, and 2 new ones come in one step.
# The matrices take 200 FLOPs for one new token, and 400 for both.
# In attention, a new token meets 6 tokens: the 4 old ones and both new ones.
# With the first of them, it costs 12 FLOPs in one layer; with all of them, for both new tokens and in both layers, attention takes 288.
#
# The first new token must not see the second, but PyTorch's plain attention multiplies the two and hides the result (it **masks** it), so we count it.
# Kernels that skip what the mask hides spare a prefill by Llama 3.1 8B 11 % of these FLOPs with 8,192 tokens, and 41 % with 131,072 (*predicted*).
# <!-- holds: [round(100 * (2 * n * (n - 1) * model.layers * model.heads * model.head_width / model.forward_flops(n))) for model in [language_model("llama31_8b")] for n in (8192, 131_072)] == [11, 41] -->
#
# **Exercise `distributed.step_flops`**: the FLOPs of a step, an array with a number for each of several sequences.
# The example's step has 400 + 288 = 688.


# %% tags=["exercise:distributed.step_flops"]
def step_flops(past, new, weights, layers, queries):
    """Tokens read before [N]; new ones in each; weights; layers; numbers in a query -> FLOPs [N]."""
    # STUB:
    # matrices = attention = 0 * past  # yours
    # BEGIN SOLUTION
    matrices = 2 * new * weights
    attention = 4 * new * (past + new) * queries * layers
    # END SOLUTION
    return matrices + attention


step_flops = check("distributed.step_flops", step_flops)

# %% [markdown]
# ### Attention with a cache
#
# Let a head have width W = 4, and let one token come before the new one, whose query is [1, 0, 0, 0].
#
# ```
#                                 old token       new token
# key                             [0, 5, 0, 0]    [2.2, 0, 0, 0]
# sum of query x key              0               2.2
# score: divided by root of W     0 / 2 = 0       2.2 / 2 = 1.1
# e to the score                  1               3
# softmax: its share of the sum   1 / 4           3 / 4
# value, its first number         8               4
# ```
#
# What the new token reads begins with 8 x 1/4 + 4 x 3/4 = 5.
#
# The old token's key and value follow from tokens up to itself, never from a later one.
# So a **KV cache** keeps the keys and values of all tokens, and a step computes only those of the new one.
#
# Many models keep fewer keys and values: in **grouped-query attention**, neighbouring query heads share one head of them.
# With 6 query heads and 2 heads of keys, query heads 0, 1 and 2 read head 0, and the others head 1.
#
# **Exercise `distributed.attend_one`**: attention of one new token, in one layer; the cache grows already.
# Write what query head `h` reads; `keys[:, 1]` is head 1 of all tokens, [tokens,W].


# %% tags=["exercise:distributed.attend_one"]
def softmax(scores):
    powers = np.exp(scores - scores.max())  # the largest is e^0, so nothing overflows
    return powers / powers.sum()


def attend_one(q, k, v, keys, values):
    """New q [H,W], k and v [K,W]; cached keys, values [P,K,W] -> [H,W], keys, values [P+1,K,W]."""
    # H query heads, K heads of keys, each W wide; P tokens are in the cache
    mixed = np.zeros_like(q)
    keys = np.concatenate([keys, k[None]])  # one more token, the last
    values = np.concatenate([values, v[None]])
    group = len(q) // len(k)  # so many query heads share one head of keys
    for h in range(len(q)):
        # STUB:
        # pass  # yours
        # BEGIN SOLUTION
        weights = softmax(keys[:, h // group] @ q[h] / np.sqrt(q.shape[1]))
        mixed[h] = weights @ values[:, h // group]
        # END SOLUTION
    return mixed, keys, values


attend_one = check("distributed.attend_one", attend_one)

# %% [markdown]
# ### Bytes
#
# A token's keys and values are 2 x layers x heads of keys x W numbers.
# <!-- holds: 2 * language_model("llama31_8b").layers * language_model("llama31_8b").kv_heads * language_model("llama31_8b").head_width == language_model("llama31_8b").kv_bytes_per_token(1) -->
# Training keeps 16 bytes for each weight, as in lesson 11; inference keeps weights and cache, here with two bytes a number.
# What do they come to, with a cache of 8,192 tokens in all, in one sequence or several?

# %%
rows = []
for key in ("gpt2", "llama2_7b", "llama31_8b", "llama31_405b"):
    model = language_model(key)
    weights = predicted(model.weight_bytes(2), "B", "2 bytes for each weight")
    training = predicted(model.training_state_bytes(), "B", "16 bytes for each weight")
    per_token = predicted(model.kv_bytes_per_token(2), "B", "the product above")
    of_many = predicted(8192 * model.kv_bytes_per_token(2), "B", "the product above")
    rows.append([model.name, model.kv_heads, training, weights, per_token, of_many])
heads = ["model", "heads of keys", "training", "weights", "cache of a token", "of 8,192 tokens"]
figures.table(
    heads, rows, "Sizes and their sources: labkit/distributed/costs/language_models.toml."
)

# %% [markdown]
# ### A step by the roofline
#
# We count the bytes of weights and cache, and leave out what operations hand on: good kernels, such as FlashAttention, keep most of it on the chip.
# One product serves all sequences of a step, so each weight is read once.
# Each sequence writes its new token's keys and values, and then reads all that it has.
#
# A model of 100 weights and 2 layers has 4 query heads of width 3, so 12 numbers in a query, and 2 heads of keys.
# A number takes 2 bytes, and a token's cache 2 x 2 x 2 x 3 x 2 = 48.
# It decodes two sequences, with 3 and 0 tokens behind them:
#
# ```
# FLOPs   first sequence   584     bytes   weights          200
#         second           296             cache, read      240
#                                          cache, written    96
#         together         880             together         536
# ```
#
# A machine of 100 FLOP/s and 100 B/s needs 8.8 s for the 880 FLOPs and 5.36 s for the 536 bytes.
# <!-- holds: step_flops(np.array([3, 0]), 1, 100, 2, 12).sum() == 880 -->
# At best both go on at once, and the step takes 8.8 s: it is **bound by compute**.
# Where the bytes take longer, it is **bound by bandwidth**.
# This limit is the **roofline**: no step that does these FLOPs and moves these bytes is shorter.
#
# The step does 880 / 536 = 1.6 FLOPs for each byte, its **intensity**.
# The machine can do 100 / 100 = 1, its **ridge**, and a step with a higher intensity is bound by compute.
#
# **Exercise `distributed.decode_seconds`**: the shortest time of a decode step, one token in each sequence.


# %% tags=["exercise:distributed.decode_seconds"]
def decode_seconds(past, weights, layers, heads, kv_heads, head_width, size, peak, bandwidth):
    """Tokens read before [N]; sizes; bytes of a number; FLOP/s; B/s -> seconds."""
    flops = step_flops(past, 1, weights, layers, heads * head_width).sum()
    token = 2 * layers * kv_heads * head_width * size  # bytes of its keys and values
    # STUB:
    # return 0.0  # yours
    # BEGIN SOLUTION
    moved = weights * size + (past + 2).sum() * token
    return max(flops / peak, moved / bandwidth)
    # END SOLUTION


decode_seconds = check("distributed.decode_seconds", decode_seconds)

# %% [markdown]
# ## Check
#
# The trained GPT writes with your attention, with labkit's cache, and with none.
# When its room for 128 tokens is full, all tokens change their position: yours stops before that, and labkit computes the cache anew.

# %%
from labkit_lessons.distributed.a_tokens_cost.cache_by_function import FunctionReader

gpt = trained().double()  # 64 bits, so that rounding decides on no character
plain = generation.generate(gpt, "Emma ", 140, temperature=0.8)
by_cache = cache.generate(gpt, "Emma ", 140, temperature=0.8)
reader = FunctionReader(gpt, attend_one)
yours = cache.generate(gpt, "Emma ", 120, temperature=0.8, reader=reader)
print("it writes:", plain[:32])
print("yours: 120 equal:", yours == plain[:120])
print("labkit's: 140 equal:", by_cache == plain)

# %% [markdown]
# `FlopCounterMode` is PyTorch's; `moved_bytes` adds up what each operation reads and writes, each tensor once.

# %%
gpt = trained()
sizes = LanguageModel.of(gpt.config)
rows = []
for name, sequences, past, new in [
    ("prefill", 1, 0, 100),
    ("decode", 1, 99, 1),
    ("decode", 16, 99, 1),
]:
    step = counted_step(gpt, new, past, sequences)
    yours = step_flops(np.full(sequences, past), new, sizes.matmul_parameters, 4, 128).sum()
    flops = counted(step.flops, "FLOP", "FlopCounterMode")
    kinds = [counted(kind, "B", "`moved_bytes`") for kind in step.bytes.values()]
    rows.append([name, sequences, bool(yours == step.flops), flops, *kinds])
heads = ["step", "sequences", "as your formula", "FLOPs", *step.bytes]
figures.table(heads, rows)
print("operations of a decode step:", counted(step.operations, "", "`moved_bytes`"))
token = sizes.kv_bytes_per_token(4)
print("16 x 100 tokens' cache:", predicted(1600 * token, "B", "the product above"))

# %% [markdown]
# The rest is what operations hand on.
#
# ## Measure
#
# The same GPT with room for 1,024 tokens: the step for the last of 256 or 1,000 tokens.
# Times are processor time on one core.

# %% tags=["timing", "nbval-ignore-output"]
from labkit_lessons.distributed.a_tokens_cost.inference_timing import measure_again, measure_step

gpt = GPT(Config(context=1024))
rows = []
for length in (256, 1000):
    one_more = counted_step(gpt, new=1, past=length - 1).flops
    all_again = counted_again(gpt, length)  # FLOPs without a cache
    fewer = counted(all_again / one_more, "times", "FlopCounterMode")
    without = measured(measure_again(gpt, length), "s")
    shortest_of_50 = measure_step(gpt, new=1, past=length - 1, rounds=50)
    cached = measured(shortest_of_50, "s")
    faster = measured(float(without) / float(cached), "times")
    rows.append([length, without, cached, fewer, faster])
figures.table(["tokens", "without", "with", "FLOPs: fewer by", "faster by"], rows)
print("with the cache:", cached)
results = {"with the cache": faster}

# %% [markdown]
# Question 2's wider GPT has weights of 303 MB, more than most processors' caches hold.
# <!-- holds: round(sum(weight.nbytes for weight in GPT(Config(width=1024, heads=8, layers=6)).parameters()) / 1e6) == 303 -->

# %% tags=["timing", "nbval-ignore-output"]
wide = GPT(Config(width=1024, heads=8, layers=6))
rows, taken = [], {}
for sequences in (1, 64):
    taken[sequences] = measure_step(wide, new=1, past=64, sequences=sequences)
    step = counted_step(wide, new=1, past=64, sequences=sequences)
    flops = counted(step.flops, "FLOP", "FlopCounterMode")
    weights = counted(step.bytes["weights"], "B", "`moved_bytes`")
    rows.append([sequences, flops, weights, measured(taken[sequences], "s")])
figures.table(["sequences", "FLOPs", "weights", "time"], rows)
results["64 sequences"] = measured(taken[64] / taken[1], "times")
print("64 sequences take", results["64 sequences"], "as long as one")

# %% [markdown]
# ## Explain
#
# Your guesses beside the results:

# %% tags=["picture", "nbval-ignore-output"]
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# With the cache, token number 1,000 costs 1,000 times fewer FLOPs.
# <!-- holds: length == 1000 and round(all_again / one_more) == 1000 -->
# But do not expect the step to be 1,000 times as fast: each of its 74 operations takes some time to begin, however few FLOPs it does, and the step still reads the layers' weights and the whole cache.
# <!-- holds: counted_step(gpt, new=1, past=999).operations == 74 -->
#
# 64 sequences need 64 times the FLOPs of one, but read the weights once, as a prefill of 64 tokens does.
# <!-- holds: rows[1][1].value / rows[0][1].value == 64 -->
# <!-- holds: len({counted_step(gpt, new, past, sequences).bytes["weights"] for sequences, past, new in ((1, 64, 1), (64, 64, 1), (1, 0, 64))}) == 1 -->
# One sequence needs the same weights for a 64th of these FLOPs, so by the roofline it is the step that waits for bytes.
#
# Now Llama 3.1 8B on an H100 (*predicted*), with 1,000 tokens in the prompt, or behind each sequence.
# The last step has as many sequences as fit beside the weights in nine tenths of the memory, which was vLLM's default share for years (its newest versions take 92 %).

# %% tags=["picture"]
from labkit.distributed.costs import inference_costs as costs
from labkit.hardware import machine

h100, llama = machine("h100"), language_model("llama31_8b")
steps = {"prefill of 1,000": costs.work(llama, new=1000)}  # FLOPs and bytes
for n in (1, 16, costs.sequences_that_fit(llama, 1000, h100)):
    steps[f"decode, {n} at once"] = costs.work(llama, new=1, past=1000, sequences=n)
intensities = {name: step.intensity for name, step in steps.items()}
figures.roofline(h100, intensities, number_format="bf16")
given = (llama.matmul_parameters, llama.layers, llama.heads, llama.kv_heads, llama.head_width, 2)
peak, bandwidth = float(h100.rate("bf16")), float(h100.bandwidth)
yours = decode_seconds(np.array([1000]), *given, peak, bandwidth)
print("decode, 1 at once:", predicted(yours, "s", "your decode_seconds"))

# %% [markdown]
# One sequence does 15.5 x 10⁹ FLOPs with 15.1 x 10⁹ bytes: about 1 for each byte, where the H100 could do 295.
# <!-- holds: [round(number / 1e9, 1) for number in (steps["decode, 1 at once"].flops, steps["decode, 1 at once"].bytes)] == [15.5, 15.1] -->
# <!-- holds: round(steps["decode, 1 at once"].intensity) == 1 and round(h100.ridge("bf16")) == 295 -->
# More sequences share the weights, but each brings its own FLOPs and its own cache of 131 x 10⁶ bytes.
# <!-- holds: round(1000 * llama.kv_bytes_per_token(2) / 1e6) == 131 -->
# So however many there are, the intensity stays below about 15,500 / 131 = 118.
# <!-- holds: 117 < costs.work(llama, new=1, past=1000, sequences=10**6).intensity < 118.5 -->
#
# ## On trial
#
# ### <a id="C43"></a>C43 on trial
#
# > Inference needs only little compute
#
# Which limit holds on each machine of the course?
# The table shows eight of them; the lines below it count all.

# %%
rows = []
every = costs.on_every_machine(llama, tokens=1000)
shown = "laptop_cpu server_cpu h100 rtx_5090 mi300x m3_max tpu_v5e pynq_z1".split()
for on in (on for on in every if on.machine.key in shown):
    ridge = predicted(on.machine.ridge(on.number_format), "FLOP/B", "peak / bandwidth")
    here = [on.machine.name, on.number_format, ridge]
    rows.append([*here, on.prefill, on.decode, on.fit, on.compute_from])
heads = ["machine", "format", "ridge", "a token of the prefill", "decode step of one"]
note = (
    "Numbers take 2 bytes in memory, with int8 1. A dash under `sequences fit`: not even the "
    "weights do. Last column: from so many sequences on; a dash: never."
)
figures.table([*heads, "sequences fit", "bound by compute from"], rows, note)
print("machines:", len(every))
print("prefill bound by compute:", sum(on.prefill_bound == "compute" for on in every))
print("decode bound by bandwidth:", sum(on.decode_bound == "bandwidth" for on in every))

# %% [markdown]
# **Verdict on C43: holds if few sequences are decoded.**
# Their steps wait for bytes, and most of the arithmetic stands idle.
# <!-- holds: {on.decode_bound for on in every} == {"bandwidth"} and steps["decode, 1 at once"].intensity < h100.ridge("bf16") / 100 -->
# With 1,000 tokens behind each, more sequences change that on two machines, the server's CPU and Apple's M3 Max; on the others, too few fit, or no number is enough.
# <!-- holds: [on.machine.key for on in every if (on.compute_from or 10**9) <= (on.fit or 0)] == ["server_cpu", "m3_max"] -->
# But this prefill, the same work as training's forward, is bound by compute on every machine that holds the weights.
# <!-- holds: {on.prefill_bound for on in every if on.fit} == {"compute"} -->
#
# ## Recap
#
# **The rule to keep: beside attention, a token costs 2 FLOPs for each weight, and a weight has two bytes, so the matrices of a step of n tokens do n FLOPs for each byte of weights.**
# <!-- holds: step_flops(0, 1, llama.matmul_parameters, 0, 0) == 2 * llama.matmul_parameters and llama.weight_bytes(2) == 2 * llama.weight_bytes(1) -->
# In these, an H100 waits for bytes below about 295 tokens in a step; in decode of Llama 3.1 8B with 1,000 tokens behind each sequence, it always does.
# <!-- holds: round(h100.ridge("bf16")) == 295 and costs.compute_bound_from(llama, 1000, h100) is None -->
#
# ### Outside
#
# vLLM serves this way, and prints what fits: `GPU KV cache size: 2,042,016 tokens`, `Maximum concurrency for 2,048 tokens per request: 997.08x` ([published in 2025](https://github.com/vllm-project/vllm/pull/13596)).
# In **speculative decoding** ([2022](https://arxiv.org/abs/2211.17192)), a small model guesses some tokens, and the large one checks them in one step.
# So a reader can get several tokens a step, and more than those 223 a second.
# With it, [gpt-fast](https://github.com/pytorch-labs/gpt-fast) made 48.4 tokens a second of Llama 2 70B in 4 bits on an A100, instead of 25.25 (*published*).
# We left out caches of fewer bits, and mixtures of experts.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_two_prompts", None)
# quiz("distributed.quiz_fewer_bits", None)
# BEGIN SOLUTION
quiz("distributed.quiz_two_prompts", "b")
quiz("distributed.quiz_fewer_bits", "c")
# END SOLUTION
