"""TensorFlow's parameter servers: a cluster of real processes, that can be killed.

Lesson faults takes them from recorded.py. What they are compared with is
labkit.distributed.parameter_server.

Modules (written by tools/modules.py):

agent        One host's agent for a TensorFlow cluster: it starts programs, and ends them whatever
             happens.
claims       Two programs of TensorFlow's early years, run as they are under today's TensorFlow.
cluster      A TensorFlow cluster with parameter servers, on one machine: real processes, that can
             be killed.
config       TF_CONFIG: which processes a TensorFlow cluster has, and which of them this one is.
keras_twin   The problem of the parameter servers for TensorFlow: photographs, and the same network.
orders       Orders to the agent of a host (agent.py), which starts and ends TensorFlow's processes
             there.
own_configs  The TF_CONFIG of each process of a TensorFlow cluster, by its name: who writes it, and
             a check.
processes    The processes of a TensorFlow cluster, by their names: started, asked, killed, ended
             together.
recorded     A TensorFlow cluster; where none may start, the record of one that ran elsewhere.
run          What is told of TensorFlow's processes: a coordinator's report, and a program that was
             tried.
trials       Any program in the coordinator's place of a TensorFlow cluster: what it says, where it
             waits.
turns        One TensorFlow cluster at a time on a machine, in the order of asking; free ports.
"""
