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
#     title: Faults, and TensorFlow's cluster
#     number: 7
#     minutes: 60
#     needs: [tensorflow]
#     able: tell each process of a TensorFlow cluster who it is; kill workers and servers, and count what was done twice and what was lost; say how often to write a checkpoint
#     runs_on: the same, and TensorFlow
# ---

# %% [markdown]
# # Faults, and TensorFlow's cluster
#
# **An interruption every three hours.**
# While Llama 3 was trained on 16,384 GPUs, 54 days brought 419 unexpected interruptions (*published*: arXiv:2407.21783).
# That is one in 54 x 24 / 419 = 3.1 hours.
# <!-- holds: round(between / 3600, 1) == 3.1 -->
# Its ranks wait for each other; with parameter servers, the others could go on.
# What is lost when a worker dies, or a server?
#
# ## What you will be able to do
#
# - tell each process of a TensorFlow cluster who it is, and train on six of them;
# - kill workers and servers, and count what was done twice and what was lost;
# - say how often a training should write a checkpoint.
#
# You need [lesson 6](6_parameter_servers.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A **checkpoint** is a file with all that a training needs to go on.
#
# 1. Three TensorFlow workers share 1,500 steps, with a gradient in each.
#    We kill one worker when the servers have applied its gradient and it has told nobody, and start it again.
#    How many gradients do the servers apply in all?
# 2. A training is interrupted every 3.1 hours, on average, and takes a minute to write a checkpoint.
#    After how many minutes of work should it write the next one?

# %%
import json

from labkit import check, figures, hint, predict, quiz
from labkit.provenance import counted, predicted
from labkit_lessons.distributed.faults.checkpoint_interval import best_interval, interruptions
from labkit_lessons.distributed.faults.pictures import (
    guesses_table,
    intervals_picture,
    roles_picture,
    twice_picture,
)

# STUB:
# guesses = {
#     "gradients applied": predict("distributed.applied_of_1500", None, "gradients"),
#     "minutes of work": predict("distributed.minutes_between_checkpoints", None, "minutes"),
# }
# BEGIN SOLUTION
guesses = {
    "gradients applied": predict("distributed.applied_of_1500", 1500, "gradients"),
    "minutes of work": predict("distributed.minutes_between_checkpoints", 60, "minutes"),
}
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Three roles
#
# TensorFlow adds one process to servers and workers: the **coordinator**, which hands out steps to whichever worker is free.
# In each step, the worker fetches the weights from the servers and changes them there.

# %% tags=["picture"]
processes = {
    "chief": ["10.0.0.1:7000"],
    "ps": ["10.0.0.1:7001", "10.0.0.2:7001"],
    "worker": ["10.0.0.1:7002", "10.0.0.2:7002", "10.0.0.2:7003"],
}
roles_picture(processes)

# %% [markdown]
# All six run the same program; a text in the variable `TF_CONFIG` of their environment tells them apart.
# The worker at the right reads this:
#
# ```
# {"cluster": {"chief": ["10.0.0.1:7000"],
#              "ps": ["10.0.0.1:7001", "10.0.0.2:7001"],
#              "worker": ["10.0.0.1:7002", "10.0.0.2:7002",
#                         "10.0.0.2:7003"]},
#  "task": {"type": "worker", "index": 2}}
# ```
#
# The `cluster` is the same for all, and names the coordinator `chief` and the servers `ps`.
# An address is a host, a colon and a port.
# The `task` is this process: its role, and its place in that role's list, from 0 on.
#
# **Exercise `distributed.tf_config`**: write the text for process `number`.
# Processes are counted from 0: the coordinator, then all servers, then all workers.
# `json.dumps(x)` makes JSON of a dict.


# %% tags=["exercise:distributed.tf_config"]
def tf_config(hosts, ports, servers, number):
    """hosts [P], ports [P] of all processes; how many servers; which process -> its TF_CONFIG"""
    addresses = [f"{host}:{port}" for host, port in zip(hosts, ports, strict=True)]
    # STUB:
    # return json.dumps({"cluster": {}, "task": {}})
    # BEGIN SOLUTION
    cluster = {
        "chief": addresses[:1],
        "ps": addresses[1 : 1 + servers],
        "worker": addresses[1 + servers :],
    }
    tasks = [(role, index) for role in cluster for index in range(len(cluster[role]))]
    role, index = tasks[number]
    return json.dumps({"cluster": cluster, "task": {"type": role, "index": index}})
    # END SOLUTION


tf_config = check("distributed.tf_config", tf_config)

# %% [markdown]
# ### Never, once, or twice
#
# A worker pushes a gradient, and no answer comes.
# Either the gradient or the answer was lost, and the worker cannot know which.
# Let a weight be 10, the learning rate 0.1 and the gradient 4:
#
# | what worker and server do | the gradient was lost | the answer was lost |
# |---|---|---|
# | **at most once**: the worker never pushes again | 10 | 9.6 |
# | **at least once**: it pushes until an answer comes | 9.6 | 9.2 |
# | **exactly once**: it pushes until then, too, but the server knows what it has applied | 9.6 | 9.6 |
#
# The server knows a push by its worker and step, not by its content.
# Two workers may send equal gradients.
#
# **Exercise `distributed.apply_once`**: apply each worker's step the first time that it arrives; its steps may come in any order.
# Leave the `w` that you are given as it is.
# Return new weights, how many pushes were applied, and how many repeated.


# %% tags=["exercise:distributed.apply_once"]
def apply_once(w, pushes, rate):
    """array w [D]; (worker, step, gradient [D]) in a list -> array w [D], applied, repeated"""
    seen = set()
    repeated = 0
    for worker, step, gradient in pushes:
        # STUB:
        # pass
        # BEGIN SOLUTION
        if (worker, step) in seen:
            repeated += 1
        else:
            seen.add((worker, step))
            w = w - rate * gradient
        # END SOLUTION
    return w, len(seen), repeated


apply_once = check("distributed.apply_once", apply_once)

# %% [markdown]
# ### What a fault costs
#
# When weights are lost, the training goes on from its last whole checkpoint.
# Let it work for 10 seconds, write for 2, and so on; faults come at 31 and 48 seconds.
#
# | from | whole checkpoints at | the fault at | seconds lost |
# |---|---|---|---|
# | 0 | 12, 24 | 31 | 31 - 24 = 7 |
# | 31 | 43 | 48 | 48 - 43 = 5 |
#
# So 12 seconds are lost, and 3 x 2 = 6 were spent on checkpoints.
# A checkpoint counts once it is whole; a fault before that loses the seconds of writing, too.
# After a fault, work begins again at once.
#
# **Exercise `distributed.cost_of_faults`**: return the seconds lost and the seconds spent, over all faults.


# %% tags=["exercise:distributed.cost_of_faults"]
def cost_of_faults(moments, every, write):
    """moments [F] of the faults, rising; work `every` s, then write -> seconds lost, seconds spent"""
    lost = spent = begin = 0
    for moment in moments:
        # STUB:
        # pass
        # BEGIN SOLUTION
        finished = (moment - begin) // (every + write)
        spent += finished * write
        lost += (moment - begin) % (every + write)
        begin = moment
        # END SOLUTION
    return lost, spent


cost_of_faults = check("distributed.cost_of_faults", cost_of_faults)

# %% [markdown]
# ## Check
#
# Our servers of lesson 6 also know a push by worker and step.
# A server may also have a **copy**: a process that gets each gradient before the server answers.
# When the server dies, workers turn to the copy.
#
# `once=False` makes the servers forget whose steps they have applied.

# %%
# Processes die and come back here: this takes a while.
from labkit.distributed.parameter_server import Asynchronous, Cluster, Photographs
from labkit.distributed.parameter_server.faults import Fault, run_with_fault

faults = {
    "a worker dies": (Fault("worker 1", after=40), True),  # after 40 steps; it is started again
    "an answer is lost": (Fault("server 0", 100, "lose the answer"), True),  # of gradient 100
    "an answer is lost, once=False": (Fault("server 0", 100, "lose the answer"), False),
    "a server with a copy dies": (Fault("server 0", after=100), True),  # with 100 gradients
}
job, rows = Photographs(), []
with Cluster(servers=2, workers=2, copies=1) as ours:
    calm = ours.train(job, Asynchronous(), 200, replay_seed=0)
    for name, (fault, once) in faults.items():
        options = {"replay_seed": 0, "once": once}
        outcome = run_with_fault(ours, fault, job, Asynchronous(), 200, **options)
        same = outcome.run.weights.equal(calm.weights)
        rows.append([name, outcome.applied, outcome.surplus, same])
heads = ["fault in 200 steps", "applied", "surplus: applied again", "weights as without a fault"]
figures.table(heads, rows, "counted in the log of the server")

# %% [markdown]
# Where each step is applied once, no fault changes a weight, since we replay the same order of steps.
# <!-- holds: [row[1:] for row in rows if 'once=False' not in row[0]] == [[200, 0, True]] * 3 and [row[1:] for row in rows if 'once=False' in row[0]] == [[201, 1, False]] -->
#
# A copy has its price: every gradient travels twice.
# And if the cable between server and copy breaks, both live, and could serve different weights (**split brain**).
# So unless it knows that its copy is dead, the server stops answering.
#
# ## Measure
#
# ### TensorFlow's six processes
#
# `tf_cluster` starts servers and workers on this machine, each with the text that your function writes, and a coordinator for each run.
# **TensorFlow's servers listen on all network interfaces, whatever address the cluster names, and run any graph that anybody sends** ([arbitrary code](https://github.com/tensorflow/tensorflow/blob/master/SECURITY.md)): who reaches an open one can run programs as you.
# So `tf_cluster` gives its processes a network of their own, without a way out.
# Where the system allows none, as on macOS, it starts nothing, says why, and answers from a record of the same program.
#
# All run [train_tf_ps.py](train_tf_ps.py); here are lines of its step and of the coordinator:
#
# ```
# loss = loss_of(tf.gather(labels, chosen), outputs)
# self.optimizer.apply(tape.gradient(loss, weights), weights)
# self.applied.scatter_add(tf.IndexedSlices(1, number))
#
# for number in range(begin, self.options.steps):
#     self.coordinator.schedule(
#         step, args=(tf.constant(number), tf.constant(chosen)))
# self.coordinator.join()
# ```
#
# `chosen` are the step's photographs; `scatter_add` adds 1 at place `number`.
# `applied` lies on a server, and counts how often each step has changed the weights.

# %%
# This takes a while, since six processes load TensorFlow.
from labkit.distributed.tensorflow.recorded import tf_cluster

cluster = tf_cluster(servers=2, workers=3, config=tf_config)
run = cluster.run(steps=100)
print(f"{run.scheduled} steps scheduled, {run.applied} applied (counted)")
print("weights on each server (counted):", run.on_servers)
print("the loss falls:", sum(run.losses[-30:]) < sum(run.losses[:30]))

# %% [markdown]
# By default, TensorFlow deals whole variables in turn, here matrix, bias, matrix, bias: both matrices came to server 0.
# <!-- holds: max(run.on_servers) == run.on_servers[0] > 100 * run.on_servers[1] -->
# (Its `variable_partitioner` cuts large ones.)
#
# ### A worker dies
#
# Now the coordinator schedules 1,500 steps.
# The worker of step 700 waits when it has changed the weights, before it tells the coordinator.
# There we kill it, and start it again.

# %% tags=["picture"]
# 1,500 steps, and a death: this takes a while.
cluster.begin(steps=1500, pause_at=700)
name = cluster.paused()
cluster.kill(name)
cluster.restart(name)
worker_died = cluster.finish()
print(f"{worker_died.scheduled} steps scheduled, {worker_died.applied} applied (counted)")
print("steps that were applied twice:", worker_died.twice)
twice_picture()

# %% [markdown]
# The coordinator gave step 700 to another worker, whom our key (worker, step) would not stop: TensorFlow's steps are done **at least once**.
# <!-- holds: worker_died.twice == [700] and worker_died.applied == worker_died.scheduled + 1 == 1501 -->
#
# ### A server dies
#
# TensorFlow's servers and its coordinator have no copies.
# After every 100 steps, the coordinator waits for all workers and writes a checkpoint.
# When 300 steps are applied, and the last 100 not yet in a checkpoint, we kill server 0.
# Then we start it again, empty, with a new coordinator.

# %%
# A death and a new coordinator: this takes a while.
options = {"steps": 300, "checkpoint": "saved", "save_every": 100}
cluster.begin(**options, pause_at=299)
cluster.paused()
cluster.kill("server 0")
cluster.release()  # the worker that was paused
server_died = cluster.finish()
print(f"the coordinator ends with {server_died.error}; it names server {server_died.dead_servers}")
cluster.restart("server 0")
resumed = cluster.run(**options)
rows = [
    ["applied before server 0 died", server_died.applied],
    ["of these in the last checkpoint", server_died.saved],
    ["lost with the server", len(server_died.lost)],
    ["redone after the restart", resumed.scheduled],
    ["in the weights at the end", resumed.applied],
]
figures.table(
    ["steps", "number"], rows, "counted by `applied`, on server 1, and by the coordinator"
)

# %% [markdown]
# Server 1 lived, but went back, too: weights of two moments do not belong together.
# <!-- holds: server_died.saved == server_died.applied - len(server_died.lost) == 200 and resumed.scheduled == len(server_died.lost) -->
#
# ## Explain
#
# Let a round be T seconds of work and C seconds of writing, and a fault come every M seconds.
# Writing takes the share C / (T + C) of all time.
# If rounds are short, a fault costs half of one, on average: the share (T + C) / (2 M).
# Their sum is least where both are equal: **T + C = √(2 C M)**.
# Young's of 1974 is nearly the same: T = √(2 C M) (*published*: doi:10.1145/361147.361115); Daly's of 2006 is ours with two small terms more.
#
# We let 419 faults fall anywhere in 54 days; your function counts their cost.

# %% tags=["picture"]
days = 54 * 86_400
between = days / 419
moments = interruptions(days, count=419)
shares = {}
for minutes in (2, 5, 10, 20, 40, 80, 160):
    lost, spent = cost_of_faults(moments, 60 * minutes, 60)
    shares[60 * minutes] = (lost + spent) / days
best = best_interval(60, between)
intervals_picture(shares, 60, between, best)
results = {
    "gradients applied": counted(worker_died.applied, "gradients", "the variable applied"),
    "minutes of work": predicted(best / 60, "minutes", "√(2 C M) - C"),
}
guesses_table(guesses, results)

# %% [markdown]
# With a checkpoint every 20 minutes, a tenth of the time is gone; every 2 or 160 minutes, a third.
# <!-- holds: round(shares[60 * 20], 1) == 0.1 and all(abs(shares[60 * minutes] - 1 / 3) < 0.04 for minutes in (2, 160)) -->
# Restarts, which here take no time, come on top: 5 minutes after each fault are 2.7 % more.
# <!-- holds: round(100 * 5 * 60 * len(moments) / days, 1) == 2.7 -->
# Twice as many machines halve M.
# For long rounds the prediction is too high.
# <!-- holds: 60 / (9600 + 60) + (9600 + 60) / (2 * between) > shares[9600] + 0.05 -->
#
# ## On trial
#
# ### <a id="C27"></a>C27 on trial
#
# > Distributed TensorFlow = `tf.train.ClusterSpec` + `tf.train.Server` + `SyncReplicasOptimizer` + `MonitoredTrainingSession`
#
# We run a program of TensorFlow 1 with these names and a single worker; then again with TensorFlow 1's API, which is still there as `tf.compat.v1`.

# %%
from labkit.distributed.tensorflow.claims import (
    FOUR_NAMES,
    ONE_SCRIPT,
    first_failure,
    names_today,
    one_script,
    with_old_api,
)

print(FOUR_NAMES)
print("It ends with", first_failure(cluster))
print("With tf.compat.v1, it prints:", with_old_api(cluster))
rows = [[name, *places] for name, places in names_today(cluster).items()]
figures.table(["name", "today in tf.train", "in tf.compat.v1.train"], rows)

# %% [markdown]
# **Verdict on C27: holds if the training is synchronous and `tf` is TensorFlow 1's API, today `tf.compat.v1`.**
# Today's `tf.train` has only the first of the four names, so the program ends at once; `tf.compat.v1.train` has all four, and with the new behaviour switched off, as TensorFlow's guide tells, the program trains with its single worker.
# <!-- holds: [row[1:] for row in rows] == [[True, True], *[[False, True]] * 3] and rows[0][0] == 'ClusterSpec' -->
# But there, `SyncReplicasOptimizer` is deprecated.
# In its place stands `MultiWorkerMirroredStrategy`, synchronous and without servers; `ParameterServerStrategy`, which ran above, is asynchronous.
# `Server` is called `tf.distribute.Server`.
# In TensorFlow 1, asynchronous training with parameter servers did without `SyncReplicasOptimizer`.
# We tried the four names with one worker, so we have not seen several of them synchronised.
#
# ### <a id="C28"></a>C28 on trial
#
# > One script starts the parameter server with `server.join()` and then the worker below it
#
# We run such a script until it waits, and ask for the line.
# Its ports are replaced by free ones, and `tf.train.Server` by today's name.

# %%
print(ONE_SCRIPT)
waiting = one_script(cluster)
print("It prints:", *waiting.printed)
print("It waits at:", waiting.text)
cluster.end()

# %% [markdown]
# **Verdict on C28: wrong.**
# `join` waits for as long as the server lives, so the worker below it never begins.
# <!-- holds: waiting.text == 'server.join()' and waiting.printed == ['the parameter server has begun'] -->
# One script will do if each process has one role: `train_tf_ps.py` is started six times, and reads which.
#
# ## Recap
#
# **The rule to keep: what is pushed until an answer comes is done at least once; and with a fault every 3 hours, a checkpoint of one minute is due after 18 minutes of work.**
# <!-- holds: round(best / 60) == 18 and round(between / 3600) == 3 and worker_died.applied > worker_died.scheduled -->
#
# ### Outside
#
# `torchrun --max-restarts=3` starts all ranks again after a fault, and `torch.distributed.checkpoint` writes what they go on from.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("distributed.quiz_what_to_store", None)
# quiz("distributed.quiz_steps_done_again", None)
# quiz("distributed.quiz_four_times_the_cost", None)
# BEGIN SOLUTION
quiz("distributed.quiz_what_to_store", "b")
quiz("distributed.quiz_steps_done_again", "b")
quiz("distributed.quiz_four_times_the_cost", "c")
# END SOLUTION
