"""The solutions of lesson 04_distributed/7_faults. Written by `labkit build` from

chapters/04_distributed/source/faults/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import json


def tf_config(hosts, ports, servers, number):
    """hosts [P], ports [P] of all processes; how many servers; which process -> its TF_CONFIG"""
    addresses = [f"{host}:{port}" for host, port in zip(hosts, ports, strict=True)]
    cluster = {
        "chief": addresses[:1],
        "ps": addresses[1 : 1 + servers],
        "worker": addresses[1 + servers :],
    }
    tasks = [(role, index) for role in cluster for index in range(len(cluster[role]))]
    role, index = tasks[number]
    return json.dumps({"cluster": cluster, "task": {"type": role, "index": index}})


def apply_once(w, pushes, rate):
    """array w [D]; (worker, step, gradient [D]) in a list -> array w [D], applied, repeated"""
    seen = set()
    repeated = 0
    for worker, step, gradient in pushes:
        if (worker, step) in seen:
            repeated += 1
        else:
            seen.add((worker, step))
            w = w - rate * gradient
    return w, len(seen), repeated


def cost_of_faults(moments, every, write):
    """moments [F] of the faults, rising; work `every` s, then write -> seconds lost, seconds spent"""
    lost = spent = begin = 0
    for moment in moments:
        finished = (moment - begin) // (every + write)
        spent += finished * write
        lost += (moment - begin) % (every + write)
        begin = moment
    return lost, spent


SOLUTIONS = {
    "distributed.tf_config": tf_config,
    "distributed.apply_once": apply_once,
    "distributed.cost_of_faults": cost_of_faults,
}
