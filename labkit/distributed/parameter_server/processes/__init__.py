"""Servers and workers as processes of one cluster: started, ordered, watched, ended.

What runs in them, server.py and worker.py, lies above.

Modules (written by tools/modules.py):

cluster       Servers and workers as real processes on this machine, which train as often as you
              like.
role_group    The roles of a cluster together: started, given orders, listened to, and ended.
role_process  A role's process as the cluster sees it: started, spoken to, listened to, and ended.
roles         What runs in each process of a cluster: one server or one worker, from its start to
              its end.
warm          What all roles of a cluster need, loaded in the process that they are forked from.
"""
