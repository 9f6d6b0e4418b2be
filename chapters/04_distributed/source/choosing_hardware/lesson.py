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
#     title: Choosing hardware
#     number: 17
#     minutes: 55
#     needs: []
#     able: say how many machines of a kind hold a model, which limit binds on them, and how long a step takes at best, with a ring; find the cheapest in time where our table lacks prices; ask the chooser about a model of your own, and hold its answers against published ones
#     runs_on: any CPU
# ---

# %% [markdown]
# # Choosing hardware
#
# **16.06 GB of weights, 16.11 GB of memory, and they do not fit.**
# By its driver, a T4 has a memory of 15,360 MiB, or 16.11 GB (*published*).
# <!-- holds: round(float(t4s.machine.memory) / 1e9, 2) == round(15_360 * 2**20 / 1e9, 2) == 16.11 -->
# The weights of Llama 3.1 8B, in numbers of two bytes, take 16.06 GB (*predicted*).
# <!-- holds: round((task.memory(1, t4s.machine).value - 8 * 4096 * 131_072) / 1e9, 2) == 16.06 -->
# But the driver keeps some for itself: PyTorch got [14.56 GiB of a T4](https://github.com/Zheng-Chong/CatVTON/issues/133), or 15.63 GB (*published*).
# <!-- holds: round(14.56 * 2**30 / 1e9, 2) == 15.63 < (task.memory(1, t4s.machine).value - 8 * 4096 * 131_072) / 1e9 -->
# So which machines will do, how fast, and for how much?
#
# ## What you will be able to do
#
# - say how many machines of a kind hold a model;
# - say which limit binds on them, and how long a step takes at best, with a ring;
# - find the cheapest machine in time, although our table lacks most prices;
# - ask the course's chooser about a model of your own.
#
# You need lessons [2](2_the_ring.ipynb), [9](9_tensor_parallel.ipynb), [13](13_a_tokens_cost.ipynb), and [16](16_a_cost_model.ipynb) where we train.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A **request** is the text of one user, to which the model adds token after token.
#
# 1. [gpt-fast](https://github.com/pytorch-labs/gpt-fast), a short program in PyTorch, generates text with Llama 2 7B for one request on an A100 limited to 330 of its 400 W.
#    How many percent of the 154 tokens a second of lesson 13's roofline did its authors measure?
# 2. Llama 3.1 8B answers 8 requests of 4,096 tokens at the same time, on two T4s, joined by Ethernet of 10 Gbit/s (assumed), or on one H100.
#    Two T4s cost 0.70 USD an hour (*published*), without a host computer.
#    Up to which price is the H100's hour as cheap?

# %%
import numpy as np

from labkit import check, figures, hint, predict, quiz
from labkit.distributed.chooser import Limits, changes, choose, formulas, serve, show
from labkit.provenance import predicted
from labkit_lessons.distributed.choosing_hardware import lesson_tables

# STUB:
# guesses = {
#     "share of the roofline": predict("distributed.share_of_the_roofline", None, "%"),
#     "H100 as cheap up to": predict("distributed.h100_as_cheap_up_to", None, "USD/h"),
# }
# BEGIN SOLUTION
guesses = {
    "share of the roofline": predict("distributed.share_of_the_roofline", 95, "%"),
    "H100 as cheap up to": predict("distributed.h100_as_cheap_up_to", 2, "USD/h"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### How many machines
#
# Let **machine** mean one GPU, TPU chip, CPU or board.
# As in lesson 9, several machines can share every layer: each holds an equal part of the weights and of the cache.
# Heads are shared evenly, so we take 1, 2, 4, 8, ... machines.
# Drivers and buffers take memory, too, so we count on 90 %, as many versions of vLLM do.
#
# Let a model have 100 weights of 2 bytes; a token's cache takes 48 bytes, and 2 requests have 3 and 7 tokens.
#
# ```
# weights   100 x 2                  200 bytes
# cache     (3 + 7) x 48             480
#                                    680
# machines with room for 200 bytes   680 / 200 = 3.4: it takes 4
# machines with room for 170 bytes   4 hold 680, exactly enough
# ```
#
# **Exercise `distributed.machines_needed`**: the smallest of 1, 2, 4, ... machines with room for all bytes; 0 if more than `most` are needed.
# The `memory` of a machine is what we count on, so the tenth is taken off already.


# %% tags=["exercise:distributed.machines_needed"]
def machines_needed(weights, size, tokens, token_cache, memory, most):
    """weights of `size` B; tokens of each request [N], of `token_cache` B; B; machines -> machines"""
    count = 1
    while count <= most:
        # STUB:
        # return None  # yours: do so many machines hold it?
        # BEGIN SOLUTION
        needed = weights * size + tokens.sum() * token_cache
        if needed <= count * memory:
            return count
        count *= 2
        # END SOLUTION
    return 0


machines_needed = check("distributed.machines_needed", machines_needed)

# %% [markdown]
# ### What binds
#
# Machines that share a layer also share its FLOPs and its bytes.
# But twice in each layer they add up their results by an all-reduce, and wait.
#
# Let a step have 880 FLOPs, 536 bytes, and 3 all-reduces of 8 bytes.
# The machines do 100 FLOP/s and move 50 B/s each, and their links have a latency of 0.2 s and 10 B/s.
# One machine computes for 880 / 100 = 8.8 s and moves its bytes for 536 / 50 = 10.72 s, both at the same time.
# An all-reduce is lesson 2's ring: between two machines, 2 messages of 4 bytes, which take 0.6 s each.
#
# ```
# machines           1        2       4
# compute            8.8      4.4     2.2 s
# bandwidth         10.72     5.36    2.68
# an all-reduce      0        1.2     2.4
# all three: links   0        3.6     7.2
# step              10.72     8.96    9.88
# ```
#
# The largest of the three parts **binds**: bandwidth on one and two machines, links on four.
# So four machines are slower than two.
#
# **Exercise `distributed.step_parts`**: one array with the rows compute, bandwidth, links and step, for all numbers of machines at once.
# `reduces` all-reduces carry `reduced` bytes each, and `np.maximum(a, b)` takes the larger one at each place.


# %% tags=["exercise:distributed.step_parts"]
def step_parts(flops, moved, reduces, reduced, n, peak, bandwidth, latency, link):
    """FLOP; B; all-reduces, of so many B; machines [N]; FLOP/s; B/s; s; B/s -> seconds [4,N]"""
    # STUB:
    # return None
    # BEGIN SOLUTION
    compute = flops / (n * peak)
    reading = moved / (n * bandwidth)
    links = reduces * 2 * (n - 1) * (latency + reduced / (n * link))
    return np.array([compute, reading, links, np.maximum(compute, reading) + links])
    # END SOLUTION


step_parts = check("distributed.step_parts", step_parts)

# %% [markdown]
# ### The cheapest in time
#
# Four kinds of machine can do a step, and the limit is 20 s.
#
# ```
#    how many  step  USD/h          USD for a step
# A  1         10 s  3.60           1 x 10 x 3.60 / 3600 = 0.010
# B  2          4 s  1.80           2 x 4 x 1.80 / 3600 = 0.004
# C  1          2 s  no price here  unknown
# D  1         30 s  0.36           0.003, but too slow
# ```
#
# B is the cheapest in time with a price.
# C may be cheaper or dearer: an empty field is not a zero.
# In NumPy an empty price is `np.nan`; `np.isnan` finds it, and every comparison with it is False.
#
# **Exercise `distributed.cheapest`**: the place of the cheapest in time, or -1 if there is none.


# %% tags=["exercise:distributed.cheapest"]
def cheapest(counts, seconds, prices, limit):
    """machines [N]; seconds of a step [N]; USD/h of one machine [N]; seconds -> place"""
    # STUB:
    # return None
    # BEGIN SOLUTION
    costs = counts * seconds * prices
    costs[np.isnan(prices) | (seconds > limit)] = np.inf
    if np.isinf(costs).all():
        return -1
    return int(np.argmin(costs))
    # END SOLUTION


cheapest = check("distributed.cheapest", cheapest)

# %% [markdown]
# ## Check
#
# The **chooser** does this for every machine of the course's table, and energy besides: power x machines x time.
# Its numbers are *predicted*, by formulas.
# Let it give 8 requests of 4,096 tokens each their next token within 50 ms.
# Its **efficiency**, the share of peak and bandwidth that is reached, is 1: the best case, with a ring where several machines share the model.

# %%
task = serve("llama31_8b", "fp16", batch=8, context=4096)
answer = choose(task, Limits(seconds=0.050))
show(answer)
formulas(answer, "t4", ["memory", "bandwidth", "links", "step"])

# %% [markdown]
# Below are four sums of the T4's row; `formulas(answer, "t4")` prints all, with sources.
# The line below the table names those that cannot do it, and why: our table has no peak in fp16 of the TPUs, for example.
# It has no laptop CPU's peak in 16 bits either: the CPU can keep such numbers, and lesson 13 counted their arithmetic in fp32, but the chooser asks for a peak in the task's own format.
# Do your functions agree, where the memory says how many and our table has the links, and for three limits?

# %%
heads, rows = lesson_tables.beside_the_chooser(
    answer, machines_needed, step_parts, tokens=[4096] * 8
)
figures.table(heads, rows)
keys, counts, seconds, prices = lesson_tables.offers(answer)
for limit in (0.050, 0.020, 0.001):
    place = cheapest(counts, seconds, prices, limit)
    yours = keys[place] if place >= 0 else "none"
    same = yours == lesson_tables.cheapest_key(task, limit)
    print(f"cheapest with a price within {1000 * limit:g} ms: {yours}, as the chooser: {same}")

# %% [markdown]
# ## Measure
#
# We have none of these machines, but others published.

# %%
from labkit_lessons.distributed.choosing_hardware.published import (
    TRAININGS,
    token_rates,
    training_hours,
)

rates = token_rates()
heads = ["model", "A100s", "at best, with a ring", "measured by others", "their share"]
figures.table(heads, rates, "A dash: the model does not fit, and gpt-fast ran out of memory.")
heads = ["model", "H100s", "forward passes", "at best, with rings", "told by Meta", "times as many"]
figures.table(heads, training_hours(), TRAININGS)

# %% [markdown]
# gpt-fast's authors reached 41 to 72 % of what we predict at best with a ring, and less the more GPUs shared the model.
# <!-- holds: [round(100 * which(row[-1] for row in rates if row[-1])) for which in (min, max)] == [41, 72] -->
# <!-- holds: all(rates[i][-1] > rates[i + 1][-1] for i in range(7) if rates[i][-1] and rates[i][0] == rates[i + 1][0]) -->
# Our ring has the latencies of NCCL's own model, as in lesson 16.
# A one-shot all-reduce, in which each GPU reads all others' numbers at once, waits less for so few numbers; gpt-fast's own command turns such ones on (`ENABLE_INTRA_NODE_COMM=1`, [PyTorch](https://github.com/pytorch/pytorch/pull/114001)).
# So with several GPUs our best case is no bound, and their share of a true one is smaller still.
# And two things slow down each GPU: by their README, such an A100 moves about 1,700 GB/s at most, and not the data sheet's 2,039; and we count no time for starting kernels, such as a token's 64 all-reduces (160 in the 70B).
# <!-- holds: round(float(answer.row("a100").machine.bandwidth) / 1e9) == 2039 -->
# <!-- holds: [2 * lesson_tables.language_model(key).layers for key in ("llama2_7b", "llama31_70b")] == [64, 160] -->
#
# Meta's trainings took 2.1 to 6 times the hours of our best case.
# <!-- holds: [round(which(row[-1] for row in training_hours()), 1) for which in (min, max)] == [2.1, 6] -->
# Of our four forward passes one recomputes; with three, as Meta's pipelines allowed, the 405B took 2.8 times as many.
# <!-- holds: [round(row[-1] * 4 / 3, 1) for row in training_hours() if row[2] == 4][-1] == 2.8 -->
# So for an estimate, give the chooser the efficiency that a task like yours reached: `Limits(efficiency=0.4)`.
# It takes this one share for all machines, although a GPU and a CPU hardly reach the same, and counts every link at its full bandwidth.
#
# ## Explain
#
# The sentences below the picture each change one thing in the task.

# %% tags=["picture"]
from labkit.distributed.chooser.pictures import times_and_prices

request = {"model": "llama31_8b", "number_format": "fp16", "batch": 8, "context": 4096}
times_and_prices(answer)
for sentence in changes(serve, request, Limits(seconds=0.050)):
    print(sentence)
h100, t4s = answer.row("h100"), answer.row("t4")
faster = t4s.time.value / h100.time.value  # times
an_hour = t4s.fit.plan.count * float(t4s.machine.price)  # USD/h of the two T4s
results = {
    # the first row is Llama 2 7B on one A100
    "share of the roofline": predicted(100 * rates[0][-1], "%", "their rate / the best case"),
    "H100 as cheap up to": predicted(faster * an_hour, "USD/h", "times as fast x USD/h of the T4s"),
}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# The H100 has five times the bandwidth of the two T4s, and it waits for no Ethernet.
# <!-- holds: round(float(h100.machine.bandwidth) / (2 * float(t4s.machine.bandwidth))) == 5 and h100.fit.plan.count == 1 -->
# So a step takes 5.76 ms instead of 39.9 with a ring, and its hour may cost 6.9 times their 0.70 USD, or 4.85.
# <!-- holds: [round(1000 * h100.time.value, 2), round(1000 * t4s.time.value, 1)] == [5.76, 39.9] -->
# <!-- holds: [round(faster, 1), round(an_hour, 2), round(faster * an_hour, 2)] == [6.9, 0.7, 4.85] -->
#
# The table's 10.80 USD (February 2025) includes a host computer and the T4's 0.35 (May 2026) none, so their ratio means little.
# Each USD/h that the hosts of the two T4s cost raises the 4.85 by 6.9.
# <!-- holds: float(h100.machine.price) == 10.8 and float(t4s.machine.price) == 0.35 -->
# But [four offers](https://github.com/datareceipts/data-receipts/tree/main/109-gpu-pricing) of an H100's hour lay between 2.69 and 12.29 USD (*published*, November 2026; the dearest equals AWS's price from before June 2025), on both sides of 4.85: your offers decide.
# <!-- holds: 2.69 < faster * an_hour < 12.29 -->
#
# ### Back through the four machines
#
# One image through the ConvNet, on a machine of each chapter.
# The board takes the 73,778 cycles that lesson 5 of chapter 3 *counted*, at an assumed 100 MHz.

# %%
formats = {"laptop_cpu": "fp32", "t4": "fp32", "tpu_v5e": "bf16", "pynq_z1": "int8"}
heads, rows = lesson_tables.an_image_on_each(formats)
figures.table(heads, rows, "A dash: the course's table has no power of this machine.")

# %% [markdown]
# By these predictions, all four do it within 1 ms.
# <!-- holds: all(row[4] for row in rows) and max(row[2].value for row in rows) < 0.001 -->
# But the first three times leave out what operations take to begin.
#
# ## On trial
#
# ### <a id="C38"></a>C38 on trial
#
# > To choose a GPU, look at CUDA cores and memory size
#
# Four GPUs with Llama 3.1 8B: one request's next token in fp32, a prompt of 1,000 tokens, and in bf16 as many requests of 2,048 tokens as fit.

# %%
heads, rows = lesson_tables.by_cores()
figures.table(heads, rows, "Memory: labkit/hardware.toml, with sources.")

# %% [markdown]
# **Verdict on C38: holds if "CUDA cores" becomes "bandwidth and the peak in your format".**
# For the next token bandwidth binds.
# <!-- holds: {row[4] for row in rows} == {'bandwidth'} -->
# The A6000 has twice the V100's cores (5,120, *published*) and 1.5 times its memory, but needs 1.2 times as long for a step of our first table.
# <!-- holds: round(answer.row('a6000').time.value / answer.row('v100').time.value, 1) == 1.2 -->
# <!-- holds: round(rows[1][1].value / 5120) == 2 and round(float(answer.row('a6000').machine.memory) / float(answer.row('v100').machine.memory), 1) == 1.5 -->
# With equal cores, an H200 is 1.4 times as fast as an H100 for the next token.
# <!-- holds: rows[2][1].value == rows[3][1].value and round(rows[2][3].value / rows[3][3].value, 1) == 1.4 -->
# The order of cores is the order of speed only for the prompt in fp32; in 16 bits tensor cores compute.
# <!-- holds: sorted(rows, key=lambda row: row[1].value) == sorted(rows, key=lambda row: -row[5].value) != sorted(rows, key=lambda row: -row[6].value) -->
# Memory size does matter, by the requests that share a step: with 1.4 times the bandwidth, the H200 makes 1.6 times the H100's tokens.
# <!-- holds: round(rows[3][-1].value / rows[2][-1].value, 1) == 1.6 and round(rows[3][-2].value / rows[2][-2].value) == 2 -->
#
# ### <a id="C39"></a>C39 on trial
#
# > Give memory-intensive tasks to the CPU
#
# This may mean many bytes to hold, such as the 284 GB of Llama 3.1 70B in fp32 with 2,048 tokens, or many bytes each second.

# %%
keys = ["laptop_cpu", "server_cpu", "t4", "a100", "h100", "b200"]
heads, rows = lesson_tables.by_bytes(keys)
figures.table(heads, rows, lesson_tables.BY_BYTES)

# %% [markdown]
# **Verdict on C39: holds if the task has to hold many bytes and need not be quick.**
# A server's CPU with 825 GB (assumed) holds the 284 GB alone, for which it takes four H100s.
# <!-- holds: [row[4] for row in rows if row[0] == h100.machine.name or 'EPYC' in row[0]] == [1, 4] -->
# But one H100 has seven times its bandwidth, and four of them make a token more than 20 times as fast.
# <!-- holds: round(rows[4][2].value) == 7 and rows[1][5].value > 20 * rows[4][5].value -->
#
# ## Recap
#
# - Memory, less a tenth, says how many machines; the longer of compute and bandwidth, plus links, says how fast; then say at which price the answer turns.
# - **The rule to keep: one request's decode step in 16 bits takes about 2 bytes x the weights that it reads / bandwidth at best: 15 GB / 3.35 TB/s = 4.5 ms for Llama 3.1 8B on an H100, since of the embedding only a row is read.**
# <!-- holds: float(h100.machine.bandwidth) == 3.35e12 and [round(2 * lesson_tables.language_model("llama31_8b").read_parameters / by, 1) for by in (1e9, 3.35e9)] == [15.0, 4.5] -->
#
# ### Your own model
#
# Change the sizes, here or in a terminal: `labkit choose train --layers 24 --width 2048 --tokens 5e9 --hours 24 --usd 1000 --efficiency 0.4`.

# %%
from labkit.distributed.chooser import own_model, train

mine = own_model(layers=24, width=2048)
show(choose(train(mine, tokens=5e9), Limits(seconds=24 * 3600, usd=1000, efficiency=0.4)))

# %% [markdown]
# ### Outside
#
# `vllm bench serve` measures a served model; MLPerf publishes measured times of whole systems, and [SkyPilot](https://docs.skypilot.co) looks up prices of many clouds.
# We left out prompts, requests that come and go, and discounts.
# `labkit choose` counts prompts (`--prompt`) and requests (`--rate`), takes your prices (`--price h100=2.5`) and machines (`--machine card.toml`), and weights in 4 bits (`--weights int4`); pipelines it leaves out.
# In the terminal, its efficiency is what others reached in such a task, unless you give one.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_third_machine", None)
# quiz("distributed.quiz_empty_price", None)
# quiz("distributed.quiz_what_to_buy", None)
# BEGIN SOLUTION
quiz("distributed.quiz_third_machine", "c")
quiz("distributed.quiz_empty_price", "b")
quiz("distributed.quiz_what_to_buy", "d")
# END SOLUTION
