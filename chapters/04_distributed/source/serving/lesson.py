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
#     title: Serving
#     number: 15
#     minutes: 60
#     needs: []
#     able: say how long users wait, at the median and at p99; let requests join and leave a batch at every step; keep a KV cache in blocks, and count the slots and tokens that are wasted; say which bytes travel between ranks in inference
#     runs_on: any CPU
# ---

# %% [markdown]
# # Serving
#
# **The same GPU answers 1.4 questions in a second, or 11** (*predicted*).
# <!-- holds: round(capacities[static], 1) == 1.4 and round(capacities[in_blocks]) == 11 -->
# Decode is bound by memory (lesson [13](13_a_tokens_cost.ipynb)), so many answers share each step.
# But nobody knows an answer's length before its last token.
# Two old habits, fixed batches and reserved memory, then cost a factor of 8; in eleven draws of such requests, 7 to 10.
# <!-- holds: round(capacities[in_blocks] / capacities[static]) == 8 -->
#
# ## What you will be able to do
#
# - say how long users wait, at the median and at p99;
# - let requests join and leave a batch at every step;
# - keep a KV cache in blocks, and count the slots that are wasted;
# - say which bytes travel between ranks in inference.
#
# You need lessons [9](9_tensor_parallel.ipynb) and [13](13_a_tokens_cost.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A **request** has a prompt, and gets some output tokens.
# Each request of a **batch** sits in a **row**: a step computes one token for each, the first by its prefill.
# A **static** batch is fixed until its longest request is done; rows that are done before compute on, for nobody.
# In **continuous batching**, whoever waits may join before each step, and whoever is done leaves.
#
# A request's **latency** is the time from its arrival to its last token.
#
# A **slot** of the KV cache holds the keys and values of one token.
# A request may reserve a **piece** at the start, for its prompt and the longest output of 2,048 tokens.
# Or it takes **blocks** of 16 slots, each when a token needs it.
#
# Each output token is the last with a chance of 1 in 200, so the mean output has 200.

# %%
import math

from labkit import check, figures, hint, predict, quiz
from labkit.distributed import launch
from labkit.distributed.costs.language_models import language_model
from labkit.hardware import machine
from labkit.provenance import counted, predicted
from labkit_lessons.distributed.serving import simulation as serving

# STUB:
# guesses = {
#     "nobody reads": predict("distributed.serving_wasted", None, "%"),
#     "twice as many": predict("distributed.serving_twice_as_many", None, "times"),
#     "in blocks": predict("distributed.serving_capacity", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "nobody reads": predict("distributed.serving_wasted", 30, "%"),
    "twice as many": predict("distributed.serving_twice_as_many", 1, "times"),
    "in blocks": predict("distributed.serving_capacity", 8, "times"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Two rows, five requests
#
# Requests 0 to 4 are there at the beginning, and get 5, 1, 4, 2 and 2 tokens.
# A step takes one unit of time.
# An x is a computed token that nobody reads, a dot an empty row:
#
# ```
# step                1  2  3  4  5  6  7  8  9 10 11
# static      row 0   0  0  0  0  0  2  2  2  2  4  4
#             row 1   1  x  x  x  x  3  3  x  x  .  .
# continuous  row 0   0  0  0  0  0  3  3
#             row 1   1  2  2  2  2  4  4
# ```
#
# The static latencies are 5, 1, 9, 7, 11, and in order 1, 5, 7, 9, 11.
# Of n latencies in order, counted from 1, the p-th **percentile** is number p x n / 100, rounded up.
# The median, p50, is number 50 x 5 / 100 = 2.5, rounded up 3: the 7.
# The **p99**, which 99 % do not exceed, is number 4.95, rounded up 5: the 11.
# In continuous batching, p50 is 5 and p99 is 7.
#
# **Exercise `distributed.latency_percentile`**: return a percentile of the latencies.
# `math.ceil` rounds up; multiply before you divide, since in floats 7 / 100 x 100 is a little more than 7.


# %% tags=["exercise:distributed.latency_percentile"]
def latency_percentile(arrivals, finishes, percent):
    """when n requests arrived, and had their last token, s [n]; percent, from 1 to 100 -> s"""
    # STUB:
    # return None  # yours
    # BEGIN SOLUTION
    latencies = sorted(finishes - arrivals)
    number = math.ceil(percent * len(latencies) / 100)  # counted from 1
    return latencies[number - 1]
    # END SOLUTION


latency_percentile = check("distributed.latency_percentile", latency_percentile)

# %% [markdown]
# ### A cache in blocks
#
# Of a piece for 2,048 output tokens, of which 200 come, nine tenths stay empty.
# So vLLM ([2023](https://arxiv.org/abs/2309.06180)) cuts the cache into blocks.
# A request's **block table** lists its blocks, in the order of its tokens.
#
# Say that a block has 4 slots, and a request 6 tokens, numbered from 0, with the table [7, 2]:
#
# ```
# token      0  1  2  3   4  5
# block      7  7  7  7   2  2
# slot      28 29 30 31   8  9
# ```
#
# Tokens 6, 7 and 8 come, and the free blocks are [5, 0, 3].
# Tokens 6 and 7 get slots 10 and 11, and block 2 is full.
# So token 8 takes the first free block: the table becomes [7, 2, 5], and its slot is 5 x 4 + 0 = 20.
#
# **Exercise `distributed.token_slots`**: return the longer table, and the new tokens' slots, here [10, 11, 20].
# `free.pop(0)` takes the first one out of `free`.


# %% tags=["exercise:distributed.token_slots"]
def token_slots(table, free, cached, new, size):
    """blocks of the request; free ones; tokens before, and new; slots in a block -> table, slots"""
    table, free, slots = list(table), list(free), []
    for token in range(cached, cached + new):
        # STUB:
        # return None  # yours: does this token need a block? Which slot has it?
        # BEGIN SOLUTION
        if token % size == 0:
            table.append(free.pop(0))
        slots.append(table[-1] * size + token % size)
        # END SOLUTION
    return table, slots


token_slots = check("distributed.token_slots", token_slots)

# %% [markdown]
# ### Who joins?
#
# First, each request in the batch gets the slot of its next token.
# Then requests join in order of arrival: nobody overtakes.
# One that joins needs a free row, and blocks for its whole prompt: in that step it prefills while the others decode.
#
# Say that 3 rows and 5 blocks of 4 slots are free, and prompts of 5, 9 and 3 tokens wait.
# The first takes 2 blocks, the second 3, and the third finds a row, but no block.
# With 4 free blocks, the second would not fit, and the third would wait behind it.
#
# **Exercise `distributed.who_joins`**: how many join?


# %% tags=["exercise:distributed.who_joins"]
def who_joins(waiting, rows, blocks, size):
    """tokens of each that waits, oldest first; free rows and blocks; slots in a block -> number"""
    joining = 0
    for tokens in waiting:
        # STUB:
        # return None  # yours
        # BEGIN SOLUTION
        need = math.ceil(tokens / size)
        if joining == rows or need > blocks:
            break
        joining += 1
        blocks -= need
        # END SOLUTION
    return joining


who_joins = check("distributed.who_joins", who_joins)

# %% [markdown]
# If blocks run out while requests grow, the one that came last is **preempted**: it gives its blocks back, and waits for a new prefill, of its prompt and its tokens so far.
#
# ## Check
#
# A simulation serves requests, token by token, with your functions in its cache.
# First come the five from above, with hatching for x.
# Then three with prompts of 4 tokens get 9 each, in 6 blocks of 4 slots.

# %% tags=["picture"]
from labkit_lessons.distributed.serving import pictures

five = serving.trace([(0, 1, 5), (0, 1, 1), (0, 1, 4), (0, 1, 2), (0, 1, 2)])
three = serving.trace([(0, 4, 9), (0, 4, 9), (0, 4, 9)])  # arrival, prompt, output
unit = serving.Units()  # of time, for each step
tight = serving.Paged(6, 4, who_joins, token_slots)
shown = {
    "static": serving.serve_in_batches(five, unit, rows=2),
    "continuous": serving.serve(five, unit, rows=2),
    "continuous, 6 blocks of 4 slots": serving.serve(three, unit, rows=3, cache=tight),
}
pictures.rows_picture(shown)
served = shown["continuous, 6 blocks of 4 slots"].served
print("preempted:", [one.preemptions for one in served], "times")
print("tokens:", [len(one.tokens) for one in served], "- free blocks at the end:", len(tight.free))

# %% [markdown]
# Each of the three has 13 tokens and needs 12 slots, since nothing follows the last: only two fit.
#
# ## Measure
#
# Now Llama 2 7B on a V100 with 32 GB, and 300 requests: prompts have 200 tokens on average, and a batch at most 128 rows.
# We let weights and cache have all of its 32 GiB, which are 34.4 GB: beside 13.5 GB of weights, 39,830 slots of 0.52 MB fit (*predicted*).
# As in lesson 13, but with the embedding's weights read, too, a step takes the longer of two times: for its bytes (weights once, the cache of all rows) and for its FLOPs.
# Requests arrive independently of each other (a **Poisson process**); their mean number in a second is the **load**.
# In a last run, 400 wait at the start; the **capacity** is how many are done in a second in its middle.
# If the load is larger than the capacity, the queue grows for as long as requests come, and on average each waits longer than the one before.
# Then a latency says how long somebody watched, so the table takes latencies at a load of 1.

# %%
limit = 2048  # the longest output
lengths = serving.Lengths(prompt=200, output=200, limit=limit)  # mean tokens
step_time = serving.Roofline(language_model("llama2_7b"), machine("v100"), "fp16")
room = step_time.cache_slots


def three_ways(requests, rows=128):
    pieces = serving.Contiguous(room, limit)
    blocks = serving.Paged(room // 16, 16, who_joins, token_slots)
    return {
        "static, in pieces": serving.serve_in_batches(requests, step_time, rows, pieces),
        "continuous, in pieces": serving.serve(requests, step_time, rows, pieces),
        "continuous, in blocks": serving.serve(requests, step_time, rows, blocks),
    }


loads = (1, 2, 4, 8, 16, 32)
runs = {load: three_ways(serving.poisson(300, load, lengths, seed=0)) for load in loads}
at_once = serving.bursts(400, size=400, gap=0, lengths=lengths, seed=0)  # one burst of all 400
full = three_ways(at_once)

# %% [markdown]
# *Capacity*, *at once* (requests in a step) and *a step* (its time) are means in the last run's middle.
# *Not read* and *held* are of the whole last run, and the other columns of 300 requests at a load of 1.
# *Not read* is the share of computed tokens that nobody reads.
# *First token* is the median time to a request's first token (TTFT), *per token* from one to the next (TPOT).
# *Held* is the share of reserved slots that hold a token of an unfinished request.

# %%
static, in_pieces, in_blocks = full
capacities = {way: run.requests_per_second for way, run in full.items()}
rows = []
for way, run in runs[1].items():
    row = [way, predicted(capacities[way], "requests/s", "the roofline")]
    row.append(counted(full[way].mean_requests, "", "the simulation"))
    row.append(predicted(full[way].mean_step, "s", "the roofline"))
    for percent in (50, 99):
        seconds = latency_percentile(run.arrivals, run.finishes, percent)
        row.append(predicted(seconds, "s", "the roofline"))
    row.append(predicted(run.median_to_first_token, "s", "the roofline"))
    row.append(predicted(run.median_per_token, "s", "the roofline"))
    unread = 100 * full[way].wasted / full[way].computed
    row.append(counted(unread, "%", "the simulation"))
    row.append(counted(100 * full[way].held_share, "%", "the simulation"))
    rows.append(row)
heads = ["way", "capacity", "at once", "a step", "p50", "p99", "first token", "per token"]
figures.table([*heads, "not read", "held"], rows)

# %% [markdown]
# The load of 1 is below every capacity.
# <!-- holds: min(capacities.values()) > 1 -->
# Continuous batching nearly triples the capacity, and blocks nearly triple it once more.
# <!-- holds: 2.5 < capacities[in_pieces] / capacities[static] < 3 and 2.5 < capacities[in_blocks] / capacities[in_pieces] < 3 -->
# At a load of 1, few requests are there at once, so blocks and pieces answer equally fast; but a static batch already makes its newcomers wait.
# <!-- holds: list(runs[1][in_pieces].finishes) == list(runs[1][in_blocks].finishes) -->
#
# A mean piece has 200 + 2,047 slots, since the last token needs none: without gaps 17 or 18 fit, filled to less than a fifth in continuous batching, while others wait.
# <!-- holds: 0.18 < full[in_pieces].held_share < 1 / 5 -->
# In blocks, only a request's last block has empty slots.
# Here are 384 slots in the middle of a run, with the numbers of requests:

# %% tags=["picture"]
from labkit_lessons.distributed.serving.maps import map_at

short = serving.Lengths(prompt=14, output=16, limit=48)
crowd = serving.bursts(40, size=40, gap=0, lengths=short, seed=1)
pieces, blocks = serving.Contiguous(384, 48), serving.Paged(48, 8, who_joins, token_slots)
maps = {
    "in pieces": map_at(crowd, rows=12, cache=pieces, step=20),
    "in blocks of 8": map_at(crowd, rows=12, cache=blocks, step=20),
}
pictures.cache_picture(maps, width=24)

# %% [markdown]
# Pale slots are reserved and empty; on the left, the white gaps are too narrow for the next piece, on the right no row is free.
#
# ## Explain
#
# How many are done within a given time, at a load of 8?
# In pieces and in static batches, that is more than the capacity: their curves are those of the first 300 requests, and more requests would move them further to the right.
# <!-- holds: capacities[static] < capacities[in_pieces] < 8 < capacities[in_blocks] -->

# %% tags=["picture"]
pictures.latency_picture(runs[8])

# %% [markdown]
# Below, dotted lines are capacities.

# %% tags=["picture"]
pictures.load_picture(runs, capacities)

unread = 100 * full[static].wasted / full[static].computed
few = runs[8][in_pieces]
twice = serving.poisson(600, 8, lengths, seed=0)  # drawn anew, twice as many
many = serving.serve(twice, step_time, 128, serving.Contiguous(room, limit))
median_few = latency_percentile(few.arrivals, few.finishes, 50)
median_many = latency_percentile(many.arrivals, many.finishes, 50)
more = capacities[in_blocks] / capacities[in_pieces]
results = {
    "nobody reads": counted(unread, "%", "the simulation"),
    "twice as many": predicted(median_many / median_few, "times", "the roofline"),
    "in blocks": predicted(more, "times", "the roofline"),
}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# In continuous batching, p50 has a **knee** beyond the capacity: more arrive than leave, and the queue grows for as long as they come.
# So the height of a curve beyond its knee says little, and twice as many requests wait about twice as long; what stays is where the knee lies.
# <!-- holds: 1.5 < median_many / median_few < 3 -->
# In blocks the knee shows late, since 300 requests are soon over.
# A static batch makes newcomers wait even below its capacity.
#
# In blocks, 7 times as many requests run at once, but the capacity is only 3 times as large.
# A step takes 2.5 times as long: it reads more cache, and with a prefill it is often bound by compute; and 111 times, a request was preempted, and read anew.
# <!-- holds: full[in_blocks].preemptions == 111 -->
#
# ## On trial
#
# ### <a id="C41"></a>C41 on trial
#
# > In distributed inference the parameters are synchronised to the main processor after each batch
#
# Two real ranks put 3 batches of 4 x 32 tokens through the small GPT, in tensor parallel and in data parallel (half of the sequences each).
# *Activations* are counted where the model's blocks sum them over the ranks.

# %%
from labkit_lessons.distributed.serving.inference import infer

rows = []
for way in ("tensor parallel", "data parallel"):
    for rank, seen in enumerate(launch(infer, 2, way, 3)):
        row = [way, rank, counted(seen.weights, "B", "labkit, from the weights")]
        row.append(counted(seen.sent, "B", "PyTorch's dispatcher"))
        row.append(counted(seen.activations, "B", "labkit, at the blocks"))
        row.append(counted(seen.sent - seen.activations, "B", "both"))
        rows.append([*row, seen.unchanged])
heads = ["way", "rank", "weights", "sent", "activations", "other bytes", "weights as before"]
figures.table(heads, rows)

# %% [markdown]
# **Verdict on C41: wrong.**
# Inference changes no weight: each bit is as before, so there is nothing to synchronise.
# In tensor parallel, all bytes sent are activations'; in data parallel, none are sent.
# (Lesson 3's `nn.DataParallel` sends weights with each batch, but from the main GPU, not to it.)
#
# ## Recap
#
# - Static batches waste tokens, and reserved pieces slots: both make others wait.
# - Below its capacity, a service has a latency; beyond it, only a queue that grows: compare capacities.
# - **The rule to keep: reserve nothing that may not come; with blocks of 16, a request leaves 7 or 8 slots empty instead of some 1,800 here.**
#
# ### Outside
#
# `vllm serve` has all of this: `--max-num-seqs` is our rows, `--block-size` our slots in a block, and `vllm:num_preemptions_total` counts preemptions.
# Orca brought continuous batching to Transformers (for recurrent networks, BatchMaker had it in [2018](https://doi.org/10.1145/3190508.3190541)): 36.9 times the throughput of FasterTransformer at equal latency, with GPT-3 175B (*published* in [2022](https://www.usenix.org/conference/osdi22/presentation/yu)).
# Then vLLM had 2 to 4 times the throughput of such systems, also at equal latency; in these, 20.4 to 38.2 % of the cache held tokens (*published* in [2023](https://arxiv.org/abs/2309.06180)).
# We left out shared prompts, prefills in parts, and real kernels.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_equal_answers", None)
# quiz("distributed.quiz_block_size", None)
# quiz("distributed.quiz_mean_and_p99", None)
# BEGIN SOLUTION
quiz("distributed.quiz_equal_answers", "b")
quiz("distributed.quiz_block_size", "b")
quiz("distributed.quiz_mean_and_p99", "d")
# END SOLUTION
