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
#     minutes: 60
#     needs: []
# ---

# %% [markdown]
# # Parameter servers
#
# **Three fast machines, and one slow one that everybody waits for.**
# Three workers need 10 ms for a gradient, and a fourth one needs 40 ms.
# Alone, they would bring 100 + 100 + 100 + 25 = 325 gradients a second.
# In a ring, all of them meet in every step, so each makes only 25 steps a second, and all four bring 100.
# What if the fast ones simply went on?
#
# ## What you will be able to do
#
# - train through two servers, each of which holds half of the weights;
# - say how stale a gradient is, and who has to wait under a bound;
# - predict the throughput of slow and fast workers, and choose a learning rate that staleness allows.
#
# You need [lesson 1](1_processes_and_collectives.ipynb) and [lesson 3](3_data_parallel_by_hand.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# 1. With a bound of 5, nobody may begin a step who is more than 5 steps ahead of the slowest worker.
#    How many gradients a second do our four workers bring, over some minutes?
# 2. Synchronous training, in which all wait for all, learns with a learning rate of 0.4.
#    We halve it again and again: 0.2, 0.1, 0.05, 0.025.
#    What is the first rate at which a training in which nobody waits learns as well?

# %%
import numpy as np
import torch

from labkit import check, figures, hint, predict, quiz
from labkit.distributed import receive, send
from labkit.distributed.parameter_server import Cluster, Photographs, pictures
from labkit.distributed.parameter_server.arrivals import arrival_order
from labkit.distributed.parameter_server.rules import Asynchronous, Bounded, Synchronous
from labkit.distributed.parameter_server.throughput import asynchronous, bounded, synchronous
from labkit.provenance import counted, measured, predicted

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
# A **parameter server** is a process that holds weights; it computes no gradients.
# A **worker** computes gradients, and holds no weights of its own.
# It **pulls** the weights from the server, computes a gradient, and **pushes** it to the server, which takes the step.
#
# With n workers and S bytes of weights, one server would receive n S bytes in each step, and send as many.
# So the weights are cut into **shards**: each server holds one part, and a worker talks to all servers.
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
# ### Nobody waits
#
# An **asynchronous** server applies each gradient as soon as it comes, and its worker pulls again at once.
# Meanwhile, others push, so a gradient may be computed with weights that are no longer the server's.
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


# %% tags=["exercise:distributed.staleness"]
def staleness(pulled, pushed):
    """pulled [N], pushed [N], moments of N steps -> the staleness of each [N]"""
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
# Its lead is the number of steps that it has finished, less those of the slowest worker.
# Take three workers and a bound of 1:
#
# | finished | leads | who may begin |
# |---|---|---|
# | 4, 3, 2 | 2, 1, 0 | workers 1 and 2; worker 0 waits |
# | 4, 3, 3 | 1, 0, 0 | all |
# | 5, 4, 3 | 2, 1, 0 | workers 1 and 2; worker 0 waits |
#
# **Exercise `distributed.may_begin`**: which workers may begin another step?


# %% tags=["exercise:distributed.may_begin"]
def may_begin(finished, bound):
    """finished [workers], steps of each; bound -> whether each may begin another [workers]"""
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
# It asks a rule who may begin; the rule in the middle is your function.


# %% tags=["picture"]
class YourBound:
    def may_begin(self, worker, finished):
        return may_begin(np.array(finished), 2)[worker]


SECONDS = [0.010, 0.010, 0.010, 0.040]  # for a step of each worker
orders = {
    "synchronous": arrival_order(SECONDS, 400, Synchronous()),
    "bounded, with a lead of 2 at most": arrival_order(SECONDS, 400, YourBound()),
    "asynchronous": arrival_order(SECONDS, 400, Asynchronous()),
}
pictures.workers_picture(orders, until=0.2)

# %% [markdown]
# The slow worker's steps are orange; without waits, they are the stalest, as the others push while it computes.
# With the bound, the fast ones win a head start of two steps, once.
# From then on, they wait as long as in synchronous training.
#
# The formulas are short.
# If the slowest of n workers needs s seconds, synchronous training brings n / s gradients a second.
# Asynchronous training brings the sum of all 1 / t, for the seconds t of each worker.
# A bound brings n / s, and the head start.

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
        rows.append([name, duration, count, formula])
figures.table(["rule", "over seconds", "gradients", "formula"], rows)

# %% [markdown]
# ## Measure
#
# Now real processes: two servers and four workers, which talk over sockets and stay until we end them.
# The workers are emulated machines: each one sleeps until its step has taken its milliseconds.
# With each rule, they train a small network for 1.5 seconds.

# %% tags=["timing", "nbval-ignore-output"]
cluster = Cluster(servers=2, workers=4)


def measure_run(rule):
    return cluster.train(Photographs(batch=8), rule, duration=1.5, seconds=SECONDS, rate=0.02)


rows = []
for name, rule in RULES.items():
    run = measure_run(rule)
    speed = measured(run.pushes / run.seconds, "/s", "emulated workers")
    formula = predicted(formulas[name](1.5), "/s", "the formulas")
    rows.append([name, speed, formula, max(run.staleness)])
figures.table(["rule", "gradients", "formula", "most staleness"], rows)
print("asynchronous:", speed)

# %% [markdown]
# All six share your processor: where it is busy, they bring less than the formula.
# Free runs also differ from each other, since the machine decides who comes first.
# From here on, the servers therefore **replay** an order: they admit pulls and pushes as they came in virtual time.
# Gradients and messages are real, but who is stale, and how much, is the same on every computer.
#
# Two things must hold: synchronous training is plain SGD with one big batch, and the servers note the staleness that your function finds.
# The bound limits leads, in steps; staleness counts updates, and may be larger.

# %%
job = Photographs(batch=64)
together = cluster.train(job, Synchronous(), 40, seconds=SECONDS, rate=0.2, replay_seed=0)
big = Photographs(batch=4 * 64)
w = big.start()
for step in range(10):
    loss, gradient, _ = big.gradient(w, worker=0, step=step, workers=1)
    w -= 0.2 * gradient
print("one big batch, within 1e-6:", bool((together.weights - w).abs().max() < 1e-6))

ahead = cluster.train(job, Bounded(5), 400, seconds=SECONDS, rate=0.05, replay_seed=0)
order = arrival_order(SECONDS, 400, Bounded(5), seed=0)
print("your staleness is the servers':", list(staleness(*order.moments())) == list(ahead.staleness))
print("largest lead:", max(ahead.leads))
print("largest staleness:", max(ahead.staleness))

# %% [markdown]
# ## Explain
#
# Which learning rates can the two extremes bear?
# Each training sees the same 400 batches of 64 photographs.
# A network that has learnt nothing has a loss of 2.3; we say that it *learns* if the last 40 batches have a mean loss below 1.6.


# %% tags=["picture"]
def learns(losses):
    return bool(np.mean(losses[-40:]) < 1.6)


runs = {}
rates = {"synchronous": (0.4, 0.2), "asynchronous": (0.2, 0.1, 0.05)}
for name in rates:
    for rate in rates[name]:
        run = cluster.train(job, RULES[name], 400, seconds=SECONDS, rate=rate, replay_seed=0)
        runs[name, rate] = run
        print(f"{name}, rate {rate}: learns: {learns(run.losses)}")
cluster.end()

largest = max(r for r in rates["asynchronous"] if learns(runs["asynchronous", r].losses))
results = {
    "bounded rate": predicted(bounded(SECONDS, 5), "gradients per second", "n / s"),
    "learning rate": counted(largest, "learning rate", "the replays above"),
}
figures.guesses([(name, guesses[name], results[name]) for name in guesses])

# %% [markdown]
# Four asynchronous workers bear a quarter of the rate.
# This is what staleness does: all four compute their gradients with nearly the same weights.
# Synchronous servers take one step with the mean, which is a quarter of the sum.
# Asynchronous servers take a full step with each of the four, which leads four times as far from the same place.
#
# So let us compare rates that lead equally far: 0.2 with the mean, and 0.05 with each gradient.

# %% tags=["picture"]
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
# Against gradients, the first three are nearly one line: with these rates, staleness costs nothing.
# Against time, asynchronous training is done before the two others have made a third of their steps.
# Its gradients have a staleness of 3 on average, one for each other worker; the slow worker's have about 12.
#
# ## On trial
#
# ### <a id="C26"></a>C26 on trial
#
# > Synchronous SGD converges stably but communicates more; asynchronous SGD is cheap but may be unstable
#
# As a control without staleness, one process takes the 400 batches one after the other.
# A **request** is a pull or a push.

# %%
w = job.start()
alone = []
for step in range(400):
    loss, gradient, _ = job.gradient(w, worker=0, step=step, workers=1)
    w -= 0.2 * gradient
    alone.append(loss)

rows = [["one process", 0.2, 0.0, learns(alone), None, None, None]]
for name, rate in (("synchronous", 0.2), ("asynchronous", 0.2), ("asynchronous", 0.05)):
    run = runs[name, rate]
    early = run.losses[: np.searchsorted(run.moments, 1.2)]
    learnt = [learns(run.losses), learns(early)]
    requests = len(arrival_order(SECONDS, 400, RULES[name], seed=0).events)
    sent = [counted(number, "", "the order") for number in (requests, requests / run.seconds)]
    rows.append([name, rate, float(np.mean(run.staleness)), *learnt, *sent])
heads = ["training", "rate", "mean staleness", "learns in 400 gradients", "learns in 1.2 s"]
figures.table([*heads, "requests", "requests a second"], rows)

# %% [markdown]
# **Verdict on C26: holds if "communicates more" becomes "waits more".**
# Every gradient costs a pull and a push, whoever waits; in a second, asynchronous workers even send three times as many.
# At 0.2, staleness alone makes it unstable, since one process learns from the same batches.
# At 0.05 it does no harm, and in equal time, only asynchronous training learns.
#
# ## Recap
#
# **The rule to keep: with n workers, asynchronous gradients are n - 1 updates stale on average, and bear about 1 / n of the synchronous learning rate (here 0.1 instead of 0.4).**
#
# ### Outside
#
# Today's dense networks train synchronously, with all-reduce, on equal machines.
# Parameter servers live on where the weights are too many for one machine, as in recommender systems, whose **embedding** tables have a row for each user or product.
# A worker then pulls and pushes only the rows of its batch.
# TensorFlow's `ParameterServerStrategy` is asynchronous by default; PyTorch's TorchRec cuts such tables over GPUs instead of servers.
# Asynchronous forms of lesson 5's local SGD have been tried for language models; there, stale gradients and momentum do not go together well (*published*: Liu and others, arXiv:2401.09135).
# We left out momentum, and messages that take time.
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
