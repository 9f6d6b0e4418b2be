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
#     title: The pipeline
#     number: 10
#     minutes: 60
#     needs: []
#     able: say in which order each stage of a pipeline works, and what that costs in time and memory; run one stage in its own process, forward and backward; choose the number of micro-batches; say what a pipeline does for inference
#     runs_on: the same
# ---

# %% [markdown]
# # The pipeline
#
# **Four processors, and three of them wait.**
# A network that is too large for one processor can be cut by its layers: the first quarter for rank 0, and so on.
# Each then needs the result of the one before: how do all four get work?
#
# ## What you will be able to do
#
# - say in which order each rank works, and what that costs in time and memory;
# - run one part of a network in its own process;
# - choose into how many pieces a batch is cut;
# - say what a pipeline does for inference.
#
# You need lessons [1](1_processes_and_collectives.ipynb), [4](4_overlap_and_buckets.ipynb), and [9](9_tensor_parallel.ipynb) for the GPT.

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A **stage** is a run of whole layers that one rank computes.
# A **pipeline** sends outputs from stage to stage, and in training gradients back.
# As in lesson 4, a **micro-batch** is a part of a batch.
#
# 1. One rank needs 960 ms for a training step.
#    Four ranks with a quarter of the layers each get the batch in one piece: how many times as fast are they?
# 2. And in 8 micro-batches instead?
# 3. In inference, one request comes alone: how long do the four ranks take, in times of the one rank's time?

# %%
import torch

from labkit import check, figures, hint, predict, quiz
from labkit.distributed import launch, receive, recorded, send
from labkit.distributed.gpt.model import GPT
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import Plan
from labkit.distributed.gpt.training import train as train_alone
from labkit.distributed.one_big_batch import gradients, largest_difference, weights
from labkit.distributed.pipeline.schedules import gpipe, schedule_of
from labkit.distributed.pipeline.stages import Stage
from labkit.provenance import counted, measured, predicted
from labkit_lessons.distributed.pipeline.training import joined, train

# STUB:
# guesses = {
#     "one piece": predict("distributed.stages_one_piece", None, "times"),
#     "eight pieces": predict("distributed.stages_eight_pieces", None, "times"),
#     "one request": predict("distributed.stages_one_request", None, "times"),
# }
# BEGIN SOLUTION
guesses = {
    "one piece": predict("distributed.stages_one_piece", 2, "times"),
    "eight pieces": predict("distributed.stages_eight_pieces", 4, "times"),
    "one request": predict("distributed.stages_one_request", 0.25, "times"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Two stages by hand
#
# Let p = 2 stages train on m = 2 micro-batches, numbered 0 and 1.
# F0 is the forward of micro-batch 0 in one stage, and takes t_F = 1 unit of time.
# B0 is its backward, and takes t_B = 2.
# The last stage can begin B0 after its own F0; the previous one waits for the gradient.
#
# A **schedule** says in which order each stage works.
# **GPipe** ([2019](https://arxiv.org/abs/1811.06965)) does all forwards, and then all backwards:
#
# ```
# time        0   1   2   3   4   5   6   7   8
# stage 0     F0  F1  .   .   .   B0  B0  B1  B1
# stage 1     .   F0  F1  B0  B0  B1  B1  .   .
# ```
#
# Each stage works for 6 of 9 units; the dots are the **bubble**, here one third.
# When the first micro-batch is through all p stages, m - 1 follow.
# So a step takes (m + p - 1)(t_F + t_B), if all stages take equally long, and messages no time.
# The bubble is (p - 1) / (m + p - 1) of it; many papers divide by the work m(t_F + t_B) instead, and get (p - 1) / m.
#
# From F to B, a stage keeps what its layers hand on and backward needs: the **activations** of this micro-batch.
# Under GPipe, both stages keep two sets.
# (In its paper a stage keeps inputs only, and computes the rest again in backward.)
# **1F1B**, for "one forward, one backward" (PipeDream, [2018](https://arxiv.org/abs/1806.03377); with a flush, as here, [2020](https://arxiv.org/abs/2006.09503)), goes backward as early as it can:
#
# ```
# time        0   1   2   3   4   5   6   7   8
# stage 0     F0  F1  .   .   B0  B0  .   B1  B1
# stage 1     .   F0  B0  B0  F1  B1  B1  .   .
# ```
#
# The step is as long, for any p and m, but stage 1 throws away one set before it computes the next.
#
# ### Who does what, and when
#
# Under 1F1B, stage s of p first does p - 1 - s forwards.
# If m is smaller, it does all m.
# Then it does one forward and one backward in turn, and at last the other backwards.
# With four stages and three micro-batches, stage 2 begins with 4 - 1 - 2 = 1 forward: F0, then F1 B0, then F2 B1, then B2.
#
# **Exercise `distributed.order_of_stage`**: write this order, such as `["F0", "F1", "B0"]`.
# `batches` lists the micro-batches' numbers as they come, such as `[80, 12, 73]`.


# %% tags=["exercise:distributed.order_of_stage"]
def order_of_stage(stage, stages, batches):
    """which stage, of how many; the numbers of the micro-batches [m] -> its order under 1F1B"""
    m = len(batches)
    order = []
    # STUB:
    # ahead = None  # yours: how many forwards come first? Then append to `order`
    # BEGIN SOLUTION
    ahead = min(stages - 1 - stage, m)
    order += [f"F{one}" for one in batches[:ahead]]
    for i in range(m):
        if ahead + i < m:
            order.append(f"F{batches[ahead + i]}")
        order.append(f"B{batches[i]}")
    # END SOLUTION
    return order


order_of_stage = check("distributed.order_of_stage", order_of_stage)

# %% [markdown]
# ### A stage in its own process
#
# Let each stage have one layer, y = x w.
# For a backward, it needs its own input x, and dy, the gradient of the loss by its output.
# It adds $x^T dy$ to its gradient `dw`, and sends back $dy\, w^T$, which is dy for the previous stage.
#
# Take w0 = 2 and w1 = 3, and two micro-batches of one number: 1 and 4, with targets 4 and 14.
# Forward: 1 becomes 2 and then 6; 4 becomes 8 and then 24.
# The loss is the mean of (y - target)² / 2 over both, so dy is (6 - 4) / 2 = 1 and (24 - 14) / 2 = 5.
# Stage 1 has dw = 2 x 1 + 8 x 5 = 42, and sends back 1 x 3 = 3 and 5 x 3 = 15.
# Stage 0 has dw = 1 x 3 + 4 x 15 = 63.


# %%
def forwards(rank, ranks, w, x):
    """x[m,n,D], of which others than rank 0 use m and n -> (input, output) of each micro-batch"""
    kept = []
    for own in x:
        a = own if rank == 0 else torch.empty(len(own), len(w))  # w has a row for each input
        if rank > 0:
            receive(a, rank - 1)
        y = a @ w
        if rank < ranks - 1:
            send(y, rank + 1)
        kept.append((a, y))
    return kept


# %% [markdown]
# **Exercise `distributed.gpipe_stage`**: write the backwards of a stage under GPipe.
# The loss is a mean over m micro-batches of n rows, so the last rank has dy = (y - goal) / (m n); the others receive it, in the shape of y.
# Use `send(tensor, to)` and `receive(tensor, source)`, one message for each micro-batch, and no autograd.


# %% tags=["exercise:distributed.gpipe_stage"]
def gpipe_stage(rank, ranks, w, x, target):
    """w[I,O]; x[m,n,D], which rank 0 reads; target[m,n,E], which the last rank reads -> dw[I,O]"""
    dw = torch.zeros_like(w)
    for (a, y), goal in zip(forwards(rank, ranks, w, x), target, strict=True):
        # STUB:
        # return None  # yours: get dy, add to dw, and send on
        # BEGIN SOLUTION
        if rank == ranks - 1:
            dy = (y - goal) / (len(target) * len(y))
        else:
            dy = torch.empty_like(y)
            receive(dy, rank + 1)
        dw += a.T @ dy
        if rank > 0:
            send(dy @ w.T, rank - 1)
        # END SOLUTION
    return dw


gpipe_stage = check("distributed.gpipe_stage", gpipe_stage)

# %% [markdown]
# ### How many micro-batches?
#
# More micro-batches make the bubble smaller, but each has a fixed cost, such as its messages.
# Let a batch of 4 sequences go through p = 2 stages.
# In each stage, forward and backward take 3 ms together for a sequence, and 2 ms more for each micro-batch.
#
# ```
#     sequences                          activations
# m   in each     step                   in stage 0
# 1       4       2 x (12 + 2) = 28 ms   1 x 4 = 4 sequences
# 2       2       3 x (6 + 2)  = 24 ms   2 x 2 = 4 sequences
# 4       1       5 x (3 + 2)  = 25 ms   2 x 1 = 2 sequences
# ```
#
# Under 1F1B, stage 0 keeps the activations of at most p micro-batches.
# So m = 2 is best; with room for only 3 sequences, m = 4.
#
# **Exercise `distributed.best_micro_batches`**: of the numbers in `choices`, find the m with the shortest step under 1F1B whose activations fit; 0 if none fits.
# All divide `sequences`, and stand in no order.
# `seconds` is for a sequence (3 ms above), `overhead` for a micro-batch (2 ms); activations of `room` sequences fit.


# %% tags=["exercise:distributed.best_micro_batches"]
def best_micro_batches(choices, stages, sequences, seconds, overhead, room):
    """numbers m; p; N; seconds per sequence, and more per micro-batch; room -> one m or 0"""
    best, shortest = 0, float("inf")
    for m in choices:
        size = sequences // m
        # STUB:
        # return None  # yours: how long is the step, and does it fit?
        # BEGIN SOLUTION
        step = (m + stages - 1) * (size * seconds + overhead)
        if min(m, stages) * size <= room and step < shortest:
            best, shortest = m, step
        # END SOLUTION
    return best


best_micro_batches = check("distributed.best_micro_batches", best_micro_batches)

# %% [markdown]
# ## Check
#
# Our small GPT has an embedding, four equal blocks and a last layer, the head; `Stage` cuts it in the middle.
# Each stage follows your order, and in the second run that of PyTorch's `Schedule1F1B`.
# Do both train the network that one process trains?

# %%
orders = [order_of_stage(stage, 2, [0, 1, 2, 3]) for stage in range(2)]
yours = schedule_of("1F1B", orders)
plan = Plan(steps=2, sequences=8, length=32)


def train_a_stage(rank, ranks, by_torch):
    stage = Stage(GPT().double(), rank, ranks)
    losses = train(stage, yours, emma().train, plan, by_torch=by_torch)
    return losses, gradients(stage), weights(stage)


alone = GPT().double()
train_alone(alone, emma().train, plan)
for way, by_torch in {"your order": False, "PyTorch's": True}.items():
    _, dw, w = joined(launch(train_a_stage, 2, by_torch))
    print(f"{way}: gradients within 1e-10:", largest_difference(dw, gradients(alone)) < 1e-10)
    print(f"{way}: weights within 1e-10:", largest_difference(w, weights(alone)) < 1e-10)

# %% [markdown]
# What does a step send, and keep, for 8 sequences of 128 tokens, in 4 micro-batches?
# A message has 2 sequences x 128 tokens x 128 numbers of 4 bytes: 131,072 bytes.

# %%
from labkit.distributed.launching.live_bytes import counted_bytes
from labkit.distributed.pipeline.runner import run

inputs, targets = Plan(length=128).batch_of(0, emma().train)


def count(rank, ranks, schedule):
    stage = Stage(GPT(), rank, ranks)
    with recorded() as messages, counted_bytes(stage) as memory:
        ran = run(stage, schedule, inputs, targets)
    sent = [message.bytes for message in messages if message.sent]
    row = [schedule.name, rank, counted(len(sent), "", "`recorded`")]
    row.append(counted(sum(sent), "B", "`recorded`"))
    row.append(counted(ran.alive, "", "the runner"))
    row.append(counted(round(memory.peak_activations, -6), "B", "live tensors, in whole MB"))
    return row


rows = [*launch(count, 2, gpipe(2, 4)), *launch(count, 2, yours)]
figures.table(["", "stage", "messages", "bytes sent", "sets kept", "activations"], rows)

# %% [markdown]
# Both send the same, but 1F1B keeps half of GPipe's activations in stage 0, and about a quarter in stage 1.
# <!-- holds: [(row[2].value, row[3].value) for row in rows] == [(4, 4 * 131_072)] * 4 -->
# <!-- holds: [row[4].value for row in rows] == [4, 4, 2, 1] and abs(rows[2][5].value / rows[0][5].value - 1 / 2) < 0.03 > abs(rows[3][5].value / rows[1][5].value - 1 / 4) -->
#
# ## Measure
#
# With fewer cores than ranks, ranks would also wait for a core, so compute is emulated: a stage sleeps.
# Each stage needs 10 ms of forward and 20 ms of backward for each of 8 sequences; the messages are real.

# %% tags=["timing", "picture", "nbval-ignore-output"]
from labkit.distributed.pipeline import predictions
from labkit.distributed.pipeline.emulated import Emulated, measure_ways
from labkit.distributed.pipeline.schedules import forward_only, one_f_one_b
from labkit_lessons.distributed.pipeline.pictures import schedule_picture

ways = {
    "one rank": Emulated(gpipe(1, 1), forward=0.32, backward=0.64),  # 4 x 8 x 10 ms
    "one piece": Emulated(gpipe(4, 1), forward=0.08, backward=0.16),
    "GPipe": Emulated(gpipe(4, 8), forward=0.01, backward=0.02),
    "1F1B": Emulated(one_f_one_b(4, 8), forward=0.01, backward=0.02),
}
steps = measure_ways(ways, ranks=4)
panels = {}
for name in ("GPipe", "1F1B"):
    panels[f"{name}: predicted"] = predictions.predict(*ways[name])
    panels[f"{name}: measured, compute emulated"] = steps[name]
schedule_picture(panels)
print("GPipe:", measured(predictions.seconds_of(steps["GPipe"]), "s", "emulated compute"))

# %% [markdown]
# Messages take time, and sleeps end late.
#
# ## Explain
#
# And the formula?

# %% tags=["picture", "nbval-ignore-output"]
seconds = {name: predictions.seconds_of(spans) for name, spans in steps.items()}
formula = "(m + p - 1)(t_F + t_B)"
by_formula = {name: way.by_formula() for name, way in ways.items()}
rows = []
for name, step in by_formula.items():
    rows.append(
        [name, predicted(step, "s", formula), measured(seconds[name], "s", "emulated compute")]
    )
figures.table(["step", "by the formula", "faster of two"], rows)
results = {
    "one piece": predicted(by_formula["one rank"] / by_formula["one piece"], "times", formula),
    "eight pieces": predicted(by_formula["one rank"] / by_formula["GPipe"], "times", formula),
}
figures.guesses([(name, guesses[name], results[name]) for name in results])

# %% [markdown]
# By the formula, eight pieces are 960 / 330 = 2.9 times as fast as one rank.
# <!-- holds: [round(1e3 * by_formula[name]) for name in ("one rank", "GPipe")] == [960, 330] and round(results["eight pieces"].value, 1) == 2.9 -->
# In one piece it is 1; measured, six messages and six more sleeps, which end late, come on top.
# <!-- holds: round(results["one piece"].value, 9) == 1 -->
# 1F1B saves memory, not time: by the formula, both take 330 ms, and only late sleeps and messages part them in the table.
# <!-- holds: by_formula["1F1B"] == by_formula["GPipe"] == min(by_formula.values()) -->
# Slow messages delay it more, since its stages wait for a gradient after each forward: with 5 ms for each message, GPipe takes 360 ms, and 1F1B 410 (predicted).
# <!-- holds: [round(1e3 * predictions.seconds_of(predictions.predict(*ways[name], message=0.005))) for name in ("GPipe", "1F1B")] == [360, 410] -->
#
# ## On trial
#
# ### <a id="C35"></a>C35 on trial
#
# > Putting layers on different GPUs computes the layers in parallel
#
# Who works in the step with one piece?

# %% tags=["picture", "nbval-ignore-output"]
schedule_picture({"one piece: measured, compute emulated": steps["one piece"]})

# %% [markdown]
# **Verdict on C35: holds if the batch is cut into micro-batches.**
# In one piece, only one stage works at a time.
# <!-- holds: round(predictions.idle_share(predictions.predict(*ways["one piece"])), 9) == 3 / 4 > predictions.idle_share(predictions.predict(*ways["GPipe"])) -->
#
# ### <a id="C19"></a>C19 on trial
#
# > Pipeline parallelism computes y = sum_k sum_i f_k(x_i)
#
# With the worked example's numbers:


# %%
def f_0(x):
    return 2 * x


def f_1(x):
    return 3 * x


print("as printed:", sum(f(x) for f in (f_0, f_1) for x in (1, 4)))
print("a pipeline:", [f_1(f_0(x)) for x in (1, 4)])

# %% [markdown]
# **Verdict on C19: wrong.**
# A pipeline composes its stages, for each micro-batch by itself: y_i = f_1(f_0(x_i)).
# <!-- holds: sum(f(x) for f in (f_0, f_1) for x in (1, 4)) == 25 and [f_1(f_0(x)) for x in (1, 4)] == [6, 24] -->
#
# ### <a id="C42"></a>C42 on trial
#
# > Pipeline parallelism shortens the waiting time of inference
#
# In inference there are only forwards: 10 ms in each of four stages, or 40 ms on one rank.
# One request comes alone; then 16 are there at once.

# %% tags=["timing", "picture", "nbval-ignore-output"]
queues = {
    "alone, one rank": Emulated(forward_only(1, 1), forward=0.04),
    "alone, 4 stages": Emulated(forward_only(4, 1), forward=0.01),
    "16, one rank": Emulated(forward_only(1, 16), forward=0.04),
    "16, 4 stages": Emulated(forward_only(4, 16), forward=0.01),
}
formula = "(m + p - 1) t_F"
by_formula = {name: way.by_formula() for name, way in queues.items()}
waits, rows = {}, []
for name, spans in measure_ways(queues, ranks=4).items():
    waits[name] = predictions.seconds_of(spans)
    rate = queues[name].schedule.micro_batches / waits[name]
    last = measured(waits[name], "s", "emulated compute")
    rate = measured(rate, "requests/s", "emulated compute")
    rows.append([name, predicted(by_formula[name], "s", formula), last, rate])
figures.table(["requests", "last answer, by the formula", "last answer after", "rate"], rows)
ratio = by_formula["alone, 4 stages"] / by_formula["alone, one rank"]
results["one request"] = predicted(ratio, "times", formula)
figures.guesses([("one request", guesses["one request"], results["one request"])])
print("alone in 4 stages:", measured(waits["alone, 4 stages"], "s", "emulated compute"))

# %% [markdown]
# **Verdict on C42: holds if requests queue up and are otherwise answered one at a time.**
# By the formula, the last of 16 waits 19 x 10 = 190 ms, and not 16 x 40 = 640 ms as when each waits until the one before has left the four stages.
# <!-- holds: [round(1e3 * by_formula[name]) for name in ("16, 4 stages", "16, one rank")] == [19 * 10, 16 * 40] and round(1e3 * 16 * by_formula["alone, 4 stages"]) == 640 -->
# If the model fits one rank, four copies take even less: 4 x 40 = 160 ms.
# <!-- holds: round(1e3 * 16 / 4 * by_formula["alone, one rank"]) == 160 < 1e3 * by_formula["16, 4 stages"] -->
# One request alone gains nothing, and its messages come on top.
# <!-- holds: round(results["one request"].value, 9) == 1 -->
#
# ## Recap
#
# **The rule to keep: if all stages take equally long and messages no time, the bubble is below a fifth with m = 4p; for p = 4 and m = 16, it is 3 / 19 = 16 %.**
# <!-- holds: max(predictions.bubble(p, 4 * p) for p in range(1, 1000)) < 1 / 5 and predictions.bubble(4, 16) == 3 / 19 -->
# <!-- holds: round(100 * (1 - 16 * 0.01 / by_formula["16, 4 stages"])) == round(100 * 3 / 19) == 16 -->
#
# ### Outside
#
# `torch.distributed.pipelining` has both schedules; its `Schedule1F1B` refuses m < p.
# In `ScheduleInterleaved1F1B`, each rank has several shorter stages: a smaller bubble, and more messages.
# PyTorch's torchtitan ran Llama 3.1 405B in Float8 on 512 H100 with 96 GB at 500 W, 8 x 8 x 8 for pipeline, tensor and sharded data parallelism: 100 tokens/s on each GPU with 1F1B, 128 with interleaved 1F1B ([published in 2024](https://github.com/pytorch/torchtitan/blob/main/benchmarks/llama3_h100_202412_torchtitan.md)).
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_bubble", None)
# quiz("distributed.quiz_activations", None)
# quiz("distributed.quiz_one_user", None)
# BEGIN SOLUTION
quiz("distributed.quiz_bubble", "c")
quiz("distributed.quiz_activations", "b")
quiz("distributed.quiz_one_user", "c")
# END SOLUTION
