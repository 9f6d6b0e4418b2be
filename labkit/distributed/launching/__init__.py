"""What carries out `launch`: ranks as processes, what they print, and why one failed.

launch.py, above, begins and ends it. Here are a rank's process and its results, backends and
torchrun, the ledger of calls, and the sentences for a launch that did not end well.

Modules (written by tools/modules.py):

backends        Backends: what carries the bytes between ranks, and where each of them can.
carriers        The threads in which gloo carries a collective: a wait until none holds what it has
                carried.
disagreements   What the ledgers of a launch's ranks say when read together: where they do not fit.
failures        What a launch tells: the output of its ranks, and why it failed, in sentences.
known_classes   Pickles from a process that runs a learner's function: read only if they hold known
                classes.
launch_folder   The folder of a launch: it goes at its end, or, where it was killed, with the next
                one.
ledger          The ledger: what each rank of a launch has called of `torch.distributed`, in a file
                that stays.
live_bytes      Live bytes: how much memory a rank's tensors take, now and at their peak, counted
                exactly.
parcels         Parcels: a value on its way to other processes, through memory that they share.
processes       The processes of a launch, as the launching process sees them: started, listened to,
                and ended.
rank            What runs in each process of a launch: one rank, from its first line to its result.
rank_network    The network of a launch's ranks: a loopback of their own, which nobody else reaches.
schedulers      `labkit launch`: how the program that a notebook launches is started on a cluster.
screen          What ranks print, as the launching process shows it: whole lines, each behind its
                rank's number.
torchrun        The same program under torchrun: this process is one rank of those that torchrun has
                started.
torchrun_agent  torchrun, as long as somebody holds its standard input open: python -m ...
"""
