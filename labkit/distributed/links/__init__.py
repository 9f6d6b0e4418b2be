"""Hosts with cables between them, on one machine, and trials of what a link can do.

The cost model whose constants they give is labkit.distributed.costs's.

Modules (written by tools/modules.py):

host_programs     Programs on a host of `two_hosts`, one by one: started, listened to, killed and
                  waited for.
hosts             Two hosts on one machine: network namespaces of Linux, joined by a cable of a
                  chosen bandwidth.
link_predictions  What the trials on a link should take, from latency and bandwidth that pings gave.
link_trials       Trials on a link: pings, collectives, a step with overlap, a pipeline; the same on
                  every link.
switched_hosts    Any number of hosts on a switch: network namespaces, each with a cable of a chosen
                  bandwidth.
trials_on_hosts   The trials of `link_trials` on hosts that are network namespaces, one rank on
                  each.
"""
