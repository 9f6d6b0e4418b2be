"""Two programs of TensorFlow's early years, run as they are under today's TensorFlow.

    with TfCluster() as cluster:
        first_failure(cluster)      # the error that ends the program of four names
        with_old_api(cluster)       # what it prints with TensorFlow 1's API
        names_today(cluster)        # of each name, whether it exists
        one_script(cluster)         # where the program with `server.join()` waits

Claims C27 and C28. Lesson faults.
"""

import json
from dataclasses import dataclass

from labkit.distributed.tensorflow.cluster import TfCluster
from labkit.distributed.tensorflow.trials import try_program, with_free_ports

NAMES = ("ClusterSpec", "Server", "SyncReplicasOptimizer", "MonitoredTrainingSession")

# One worker, without a parameter server: so one process is enough.
FOUR_NAMES = """\
import tensorflow as tf

cluster = tf.train.ClusterSpec({"worker": ["localhost:2222"]})
server = tf.train.Server(cluster, job_name="worker", task_index=0)
weight = tf.Variable(0.0)
loss = tf.square(weight - 1.0)
step = tf.train.get_or_create_global_step()
optimizer = tf.train.GradientDescentOptimizer(0.1)
optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=1)
train = optimizer.minimize(loss, global_step=step)
hook = optimizer.make_session_run_hook(is_chief=True)
with tf.train.MonitoredTrainingSession(server.target, is_chief=True, hooks=[hook]) as session:
    for _ in range(20):
        session.run(train)
    print(f"the weight is {session.run(weight):.2f}", flush=True)
"""

TODAY = "import tensorflow as tf\n"
OLD_API = "import tensorflow.compat.v1 as tf\n\ntf.disable_v2_behavior()\n"

# `tf.train.Server` is called `tf.distribute.Server` today.
ONE_SCRIPT = """\
import tensorflow as tf

cluster = tf.train.ClusterSpec({"ps": ["localhost:2222"], "worker": ["localhost:2223"]})

server = tf.distribute.Server(cluster, job_name="ps", task_index=0)
print("the parameter server has begun", flush=True)
server.join()

server = tf.distribute.Server(cluster, job_name="worker", task_index=0)
print("the worker has begun", flush=True)
"""


@dataclass(frozen=True)
class Waiting:
    """The line in which a program waits, None if it came to its end; its text; what it printed."""

    line: int | None
    text: str
    printed: list[str]


def first_failure(cluster: TfCluster) -> str:
    """What ends the program of four names as printed: the last line of its traceback."""
    return try_program(cluster, FOUR_NAMES).error


def with_old_api(cluster: TfCluster) -> str:
    """What the program of four names prints where `tf` is TensorFlow 1's API.

    It is ended then: to close, its session waits for two minutes.
    """
    text = with_free_ports(FOUR_NAMES.replace(TODAY, OLD_API))
    return try_program(cluster, text, until="the weight is").printed.splitlines()[-1]


def names_today(cluster: TfCluster) -> dict[str, list[bool]]:
    """Of each of the four names, whether `tf.train` has it, and whether `tf.compat.v1.train`."""
    text = "import json\nimport tensorflow as tf\n"
    text += "places = (tf.train, tf.compat.v1.train)\n"
    text += f"print(json.dumps([[hasattr(x, name) for x in places] for name in {NAMES!r}]))\n"
    last = try_program(cluster, text).printed.splitlines()[-1]
    return dict(zip(NAMES, json.loads(last), strict=True))


def one_script(cluster: TfCluster) -> Waiting:
    """Where the script of both roles stays once its first server has begun; it is ended there.

    Only its ports are replaced, by free ones.
    """
    text = with_free_ports(ONE_SCRIPT)
    tried = try_program(cluster, text, until="has begun")
    line = text.splitlines()[tried.line - 1].strip() if tried.line else ""
    printed = [words for words in tried.printed.splitlines() if words.endswith("has begun")]
    return Waiting(tried.line, line, printed)
