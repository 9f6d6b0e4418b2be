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
#     title: Parameter servers
#     number: 6
#     minutes: 60
#     needs: []
#     able: let servers hold the weights, and workers pull and push; say how stale a gradient is, and who waits under a bound; predict the throughput of unlike workers, and choose a learning rate that staleness allows
#     runs_on: the same
# ---

# %% [markdown]
# # Parameter servers
#
# **Three fast machines, and one slow one that everybody waits for.**
# Three workers need 10 ms for a gradient, and a fourth one needs 40 ms.
# Alone, they would bring 100 + 100 + 100 + 25 = 325 gradients a second.
# In a ring, all meet in every step, so each makes 25 steps a second, and all four bring 100.
# What if the fast ones simply went on?
#
# ## What you will be able to do
#
# - train through two servers, each with half of the weights, and count what their links carry;
# - say how stale a gradient is, and who has to wait under a bound;
# - predict the throughput of slow and fast workers, and choose a learning rate that staleness allows.
#
# You need [lesson 1](1_processes_and_collectives.ipynb) and [lesson 3](3_data_parallel_by_hand.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# 1. With a bound of 5, nobody may begin a step who has finished over 5 steps more than the slowest worker.
#    How many gradients a second do our four workers bring in the first 0.4 seconds?
# 2. Synchronous training, in which all wait for all, learns with a learning rate of 0.4.
#    We halve it: 0.2, 0.1, 0.05, 0.025.
#    What is the first rate at which a training in which nobody waits learns as well?

# %%
import numpy as np
import torch

from labkit import check, figures, hint, predict, quiz
from labkit.distributed import launch, receive, recorded, ring_all_reduce, send
from labkit.distributed.parameter_server import Cluster, Photographs
from labkit.distributed.parameter_server.arrivals import arrival_order
from labkit.distributed.parameter_server.rules import Asynchronous, Bounded, Synchronous
from labkit.provenance import counted, predicted
from labkit_lessons.distributed.parameter_servers import pictures
from labkit_lessons.distributed.parameter_servers.throughput import (
    asynchronous,
    bounded,
    synchronous,
)

# STUB:
# guesses = {
#     "bounded rate": predict("distributed.bounded_rate", None, "gradients per second"),
#     "learning rate": predict("distributed.asynchronous_rate", None, "learning rate"),
# }
# BEGIN SOLUTION
guesses = {
    "bounded rate": predict("distributed.bounded_rate", 200, "gradients per second"),
    "learning rate": predict("distributed.asynchronous_rate", 0.2, "learning rate"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Who holds the weights
#
# A **parameter server** is a process that holds weights, and a **worker** one that computes gradients.
# A worker **pulls** the weights, computes a gradient, and **pushes** it to the server, which takes the step.
#
# The weights are cut into **shards**: each server holds one part, and a worker talks to all servers.
# Here two servers hold the weights 1, 2, 3, 4, and the learning rate is 0.5.

# %% tags=["picture"]
pictures.step_picture([1, 2, 3, 4], gradients=[[2, 4, 0, -2], [0, 2, 4, 2]], rate=0.5)

# %% [markdown]
# Server 0 receives (2, 4) and (0, 2), whose mean is (1, 3).
# Its new part is (1, 2) - 0.5 x (1, 3) = (0.5, 0.5), and it goes to both workers.
# This is **synchronous**: the servers wait for all workers, and take one step with the mean.
#
# **Exercise `distributed.sharded_servers`**: write one synchronous step.
# Ranks 0 and 1 are the servers, and the `ranks - 2` others are workers; a server's `gradient` is None.
# Server i holds `w.tensor_split(2)[i]`, and a worker sends it only that part of its gradient.
# Messages go between a worker and a server only, one each way, with `send` and `receive`.


# %% tags=["exercise:distributed.sharded_servers"]
def sharded_servers(rank, ranks, w, gradient, rate):
    """w [N], of all ranks; gradient [N] of a worker -> a server's new part, a worker's new w [N]"""
    if rank < 2:  # a server
        part = w.tensor_split(2)[rank].clone()
        # STUB:
        # # Receive from each worker, change `part`, and send it to each worker.
        # BEGIN SOLUTION
        for worker in range(2, ranks):
            arrived = torch.empty_like(part)
            receive(arrived, source=worker)
            part -= rate * arrived / (ranks - 2)
        for worker in range(2, ranks):
            send(part, to=worker)
        # END SOLUTION
        return part
    new = [part.clone() for part in w.tensor_split(2)]
    # STUB:
    # # Send each server its part of the gradient, and receive both new parts.
    # BEGIN SOLUTION
    for server in range(2):
        send(gradient.tensor_split(2)[server], to=server)
    for server in range(2):
        receive(new[server], source=server)
    # END SOLUTION
    return torch.cat(new)


sharded_servers = check("distributed.sharded_servers", sharded_servers)

# %% [markdown]
# With n workers and S bytes of weights, each of two servers receives n S / 2 bytes in a step, and sends as many.
# In a ring of workers, each rank sends 2 (n - 1) / n S.
# We count both with the 24,938 weights of our network.


# %%
def bytes_sent(rank, ranks, around_a_ring):
    w = torch.zeros(24_938)
    with recorded() as messages:
        if around_a_ring:
            ring_all_reduce(w)
        else:
            sharded_servers(rank, ranks, w, None if rank < 2 else w, rate=0.1)
    return sum(message.bytes for message in messages if message.sent)


S = 24_938 * 4
rows = []
for n in (2, 4):
    sent = launch(bytes_sent, n + 2, False)[0], launch(bytes_sent, n, True)[0]
    server, rank = (counted(number, "B", "`recorded`") for number in sent)
    formulas = n * S / 2, 2 * (n - 1) / n * S
    server_formula, rank_formula = (predicted(number, "B", "the text") for number in formulas)
    rows.append([n, server, server_formula, rank, rank_formula])
figures.table(["workers", "server 0 sends", "n S / 2", "rank 0 of a ring", "2 (n - 1) / n S"], rows)

# %% [markdown]
# Two servers send more with every further worker, while a rank of a ring never sends 2 S.
# <!-- holds: rows[0][1].value < rows[1][1].value and max(row[3].value for row in rows) < 2 * S -->
# <!-- holds: all(abs(row[1].value - row[2].value) < 10 and abs(row[3].value - row[4].value) < 10 for row in rows) -->
# But as many servers as workers send only n S / n = S each; on the workers' own machines, each machine sends 2 (n - 1) / n S, exactly the ring's bytes (BytePS, OSDI 2020).
# A worker alone sends S, half of what a rank of a long ring sends.
#
# ### Nobody waits
#
# An **asynchronous** server applies each gradient as soon as it comes, and its worker pulls again at once.
# Meanwhile, others push, so its gradient may belong to older weights.
# Its **staleness** is the number of updates between its worker's pull and its push.
#
# | step | worker | pulled at | pushed at | pushes in between | staleness |
# |---|---|---|---|---|---|
# | 0 | 0 | 0 ms | 10 ms | none | 0 |
# | 1 | 1 | 1 ms | 12 ms | step 0 | 1 |
# | 2 | 0 | 11 ms | 21 ms | step 1 | 1 |
# | 3 | 2 | 2 ms | 25 ms | steps 0, 1 and 2 | 3 |
#
# **Exercise `distributed.staleness`**: `pulled` and `pushed` have the moments of N steps, in any order.
# No two pushes come at one moment, and where a pull comes at that of a push, the push was first.


# %% tags=["exercise:distributed.staleness"]
def staleness(pulled, pushed):
    """arrays pulled [N], pushed [N], moments of N steps -> array: the staleness of each [N]"""
    counts = np.zeros(len(pushed))
    for i in range(len(pushed)):
        # STUB:
        # counts[i] = 0
        # BEGIN SOLUTION
        counts[i] = np.sum((pulled[i] < pushed) & (pushed < pushed[i]))
        # END SOLUTION
    return counts


staleness = check("distributed.staleness", staleness)

# %% [markdown]
# ### A bound
#
# Between the two lies **bounded staleness**: a worker may begin a step if its **lead** is at most the bound.
# Its lead is its finished (pushed) steps, less the slowest worker's; with the step that it then makes, it may become one more than the bound.
# Take three workers and a bound of 1:
#
# | finished | leads | who may begin |
# |---|---|---|
# | 4, 3, 2 | 2, 1, 0 | workers 1 and 2; worker 0 waits |
# | 4, 3, 3 | 1, 0, 0 | all |
#
# **Exercise `distributed.may_begin`**: which workers may begin another step?


# %% tags=["exercise:distributed.may_begin"]
def may_begin(finished, bound):
    """array finished [workers], steps of each; bound -> array of bool: may each begin another?"""
    # STUB:
    # return np.full(len(finished), True)
    # BEGIN SOLUTION
    return finished - finished.min() <= bound
    # END SOLUTION


may_begin = check("distributed.may_begin", may_begin)

# %% [markdown]
# ## Check
#
# Here are our four workers in **virtual time**: a program adds up their milliseconds, and nobody really waits.
# It asks a rule who may begin: in the middle, your function.


# %% tags=["picture"]
class YourBound:
    def may_begin(self, worker, finished):
        return may_begin(np.array(finished), 2)[worker]


SECONDS = [0.010, 0.010, 0.010, 0.040]  # for a step of each worker
orders = {
    "synchronous": arrival_order(SECONDS, 400, Synchronous()),
    "bounded: begins with a lead of 2 at most": arrival_order(SECONDS, 400, YourBound()),
    "asynchronous": arrival_order(SECONDS, 400, Asynchronous()),
}
pictures.workers_picture(orders, until=0.2)

# %% [markdown]
# The slow worker's steps are orange; where nobody waits, they are the stalest.
# <!-- holds: orders["asynchronous"].pushes[int(np.argmax(staleness(*orders["asynchronous"].moments())))].worker == 3 -->
#
# If the slowest of n workers needs s seconds, synchronous training brings n / s gradients a second.
# <!-- holds: abs(synchronous(SECONDS) - len(SECONDS) / max(SECONDS)) < 1e-9 -->
# Asynchronous training brings the sum of 1 / t over all workers.
# <!-- holds: abs(asynchronous(SECONDS) - sum(1 / t for t in SECONDS)) < 1e-9 -->
# A bound brings n / s as well, and once a head start.
# <!-- holds: abs(bounded(SECONDS, 5, 1e6) - synchronous(SECONDS)) < 0.001 < bounded(SECONDS, 5, 0.4) - synchronous(SECONDS) -->
# With a bound of 5, in 0.4 seconds, the slow worker finishes 10 steps, and each of the others is 5 ahead at that moment: (10 + 3 x 15) / 0.4 = 138 a second.
# <!-- holds: abs(bounded(SECONDS, 5, 0.4) - (10 + 3 * 15) / 0.4) < 1e-9 and round(bounded(SECONDS, 5, 0.4)) == 138 -->
# The last column is a constant, as if all waited.

# %%
RULES = {"synchronous": Synchronous(), "bound 5": Bounded(5), "asynchronous": Asynchronous()}
formulas = {
    "synchronous": lambda duration: synchronous(SECONDS),
    "bound 5": lambda duration: bounded(SECONDS, 5, duration),
    "asynchronous": lambda duration: asynchronous(SECONDS),
}
rows = []
for name, rule in RULES.items():
    order = arrival_order(SECONDS, 14_000, rule)
    for duration in (0.4, 4, 40):
        count = counted(order.pushed(by=duration) / duration, "/s", "arrivals in virtual time")
        formula = predicted(formulas[name](duration), "/s", "the formulas")
        constant = predicted(synchronous(SECONDS), "/s", "n / s")
        rows.append([name, duration, count, formula, constant])
figures.table(["rule", "over seconds", "gradients", "formula", "constant"], rows)

# %% [markdown]
# For the bound, the constant is a quarter too low at first, and as good as the formula after 40 seconds.
# <!-- holds: 0.22 < 1 - rows[3][4].value / rows[3][2].value < 0.28 -->
# <!-- holds: abs(rows[5][3].value / rows[5][4].value - 1) < 0.01 > abs(rows[5][2].value / rows[5][4].value - 1) -->
#
# ## Measure
#
# Now real processes train a small network: two servers and four workers, which talk over sockets.
# Whoever reaches a server's socket could push gradients; so each caller proves first that it holds this cluster's secret.
# If they ran freely, the machine would decide who comes first.
# Instead, the servers **replay** an order: they admit pulls and pushes as they came in virtual time, with the same staleness on every computer.
# (`replay_seed` draws the order.)
#
# One process, for comparison:


# %%
def one_process(job, rate, batches):  # batches: (worker, step, workers) of each
    torch.set_num_threads(1)  # as in a worker's process
    w, losses = job.start(), []
    for batch in batches:
        loss, gradient, _ = job.gradient(w, *batch)
        w -= rate * gradient
        losses.append(loss)
    return w, losses


# %% [markdown]
# Two things must hold: synchronous training is SGD with one big batch, and the servers note the staleness that your function finds in the order's moments.

# %%
cluster = Cluster(servers=2, workers=4)
job, big = Photographs(batch=64), Photographs(batch=4 * 64)
together = cluster.train(job, Synchronous(), 40, seconds=SECONDS, rate=0.2, replay_seed=0)
w, _ = one_process(big, 0.2, [(0, step, 1) for step in range(10)])
print("one big batch, within 1e-6:", bool((together.weights - w).abs().max() < 1e-6))

ahead = cluster.train(job, Bounded(5), 400, seconds=SECONDS, rate=0.05, replay_seed=0)
pulled, pushed = arrival_order(SECONDS, 400, Bounded(5), seed=0).moments()
print("your staleness is the servers':", list(staleness(pulled, pushed)) == list(ahead.staleness))
print("largest lead at a step's beginning:", max(ahead.leads))
print("largest staleness:", max(ahead.staleness))

# %% [markdown]
# Staleness may be larger than any lead, since it counts the updates of all others together.
# <!-- holds: max(ahead.staleness) > max(ahead.leads) == 5 -->
#
# ## Explain
#
# Which learning rates can the two extremes bear?
# A new network has a loss of 2.3; a training *learns* if no batch has more than 3, and the last 40 have a mean below 1.6.
# <!-- holds: round(job.gradient(job.start(), 0, 0, 4)[0], 1) == 2.3 -->
#
# All have 400 batches of 64, or 100 big ones of 256, as in synchronous training.
# As a control without staleness, one process takes the asynchronous training's own batches, in the order of their pushes.


# %%
def learns(losses):
    return bool(max(losses) < 3 and np.mean(losses[-40:]) < 1.6)


runs, rows = {}, []
for name, rate in [("synchronous", 0.2), *[("asynchronous", rate) for rate in (0.2, 0.1, 0.05)]]:
    run = cluster.train(job, RULES[name], 400, seconds=SECONDS, rate=rate, replay_seed=0)
    runs[name, rate] = run
    early = [loss for loss, moment in zip(run.losses, run.moments, strict=True) if moment < 1.2]
    traffic = counted(2 * run.pushes / run.seconds, "/s", "the order")
    rows.append([name, rate, learns(run.losses), learns(early), traffic])
cluster.end()
in_order = [(0, step, 1) for step in range(100)]
as_pushed = [(worker, step, 4) for worker, step in zip(run.workers, run.steps, strict=True)]
controls = [("big", big, 0.8, in_order), ("big", big, 0.4, in_order)]
controls += [("single", job, 0.4, as_pushed), ("single", job, 0.2, as_pushed)]
for name, what, rate, batches in controls:
    _, losses = one_process(what, rate, batches)
    rows.append([f"one process, {name} batches", rate, learns(losses), None, None])
figures.table(["training", "rate", "learns", "learns in 1.2 s", "pulls and pushes"], rows)

# %% [markdown]
# Synchronous training is one process with big batches, which bears 0.4 and diverges at 0.8.
# <!-- holds: (together.weights - w).abs().max() < 1e-6 -->
# <!-- holds: [row[1:3] for row in rows if row[0] == "one process, big batches"] == [[0.8, False], [0.4, True]] -->
# Four asynchronous workers bear 0.1, so two halvings lie between them.
# <!-- holds: [row[1:3] for row in rows if row[0] == "asynchronous"] == [[0.2, False], [0.1, True], [0.05, True]] -->
# <!-- holds: max(row[1] for row in rows if row[0] == "one process, big batches" and row[2]) / 4 == max(row[1] for row in rows if row[0] == "asynchronous" and row[2]) -->
# One process with single batches bears 0.2, although none of its gradients is stale: the first halving is the price of the smaller batches.
# <!-- holds: [row[1:3] for row in rows if row[0] == "one process, single batches"] == [[0.4, False], [0.2, True]] -->
# The second one is the price of staleness: all four compute with nearly the same weights, and then each gradient is a full step.
# <!-- holds: max(row[1] for row in rows if row[0] == "one process, single batches" and row[2]) / 2 == max(row[1] for row in rows if row[0] == "asynchronous" and row[2]) -->
# We tried only halvings, with one seed, so the true prices may differ.
#
# ## On trial
#
# ### <a id="C26"></a>C26 on trial
#
# > Synchronous SGD converges stably but communicates more; asynchronous SGD is cheap but may be unstable
#
# Four gradients move the weights equally far in one step with their mean at rate 0.2, and in four steps, one with each, at 0.05.
# We compare these two.

# %% tags=["picture"]
asynchronous_rates = [r for (name, r) in runs if name == "asynchronous"]
largest = max(r for r in asynchronous_rates if learns(runs["asynchronous", r].losses))
results = {
    "bounded rate": predicted(bounded(SECONDS, 5, 0.4), "gradients per second", "the formula"),
    "learning rate": counted(largest, "learning rate", "the replays above"),
}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

compared = {
    "synchronous, rate 0.2": runs["synchronous", 0.2],
    "bound 5, rate 0.05": ahead,
    "asynchronous, rate 0.05": runs["asynchronous", 0.05],
    "asynchronous, rate 0.2": runs["asynchronous", 0.2],
}
pictures.losses_picture(compared)
del compared["asynchronous, rate 0.2"]  # as stale as with 0.05
pictures.staleness_picture(compared, slowest=3)

# %% [markdown]
# Against gradients, the first three nearly agree: in this run, at 0.05, staleness costs nothing.
# <!-- holds: np.ptp([np.mean(run.losses[-40:]) for run in compared.values()]) < 0.1 and len(compared) == 3 -->
# <!-- holds: abs(np.mean(runs["asynchronous", 0.05].losses[-40:]) - np.mean(runs["synchronous", 0.2].losses[-40:])) < 0.05 -->
# Its gradients have a staleness of 3 on average, one for each other worker; the slow worker's have about 12.
# <!-- holds: round(np.mean(runs["asynchronous", 0.05].staleness), 1) == 3 -->
# <!-- holds: abs(np.mean([s for s, who in zip(run.staleness, run.workers) if who == 3]) - 12) < 1 -->
#
# **Verdict on C26: holds if "communicates more" becomes "waits more", at a rate that one big batch bears (here up to 0.4).**
# With our servers, every gradient costs a pull and a push, whoever waits; with one slow worker, as here, asynchronous ones even send three times as many a second.
# <!-- holds: round(rows[1][4].value / rows[0][4].value) == 3 -->
# At 0.2, staleness alone makes it unstable, since one process learns from the same batches in the same order.
# <!-- holds: [learns(runs["asynchronous", 0.2].losses), dict((tuple(row[:2]), row[2]) for row in rows)["one process, single batches", 0.2]] == [False, True] -->
# At 0.05 it does no harm in this one run, and in 1.2 seconds synchronous training at 0.2 does not learn yet.
# <!-- holds: [rows[3][1:4], rows[0][3]] == [[0.05, True, True], False] -->
#
# ## Recap
#
# **The rule to keep: with n workers, asynchronous gradients are n - 1 updates stale on average, and bear a smaller rate: here two halvings less, one of them through staleness.**
# <!-- holds: round(np.mean(runs["asynchronous", 0.05].staleness)) == len(SECONDS) - 1 and largest == 0.4 / 4 == 0.2 / 2 -->
# <!-- holds: [row[1] for row in rows if row[0].startswith("one process") and row[2]] == [4 * largest, 2 * largest] -->
#
# ### Outside
#
# Such servers are described by Li and others (OSDI 2014), bounded staleness by Ho and others (NIPS 2013).
#
# Parameter servers live on where a recommender's **embedding** table, a row for each product, exceeds one machine: workers pull only their batch's rows.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_two_more_servers", None)
# quiz("distributed.quiz_slower_still", None)
# quiz("distributed.quiz_one_late_step", None)
# BEGIN SOLUTION
quiz("distributed.quiz_two_more_servers", "d")
quiz("distributed.quiz_slower_still", "c")
quiz("distributed.quiz_one_late_step", "a")
# END SOLUTION
