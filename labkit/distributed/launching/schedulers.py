"""`labkit launch`: how the program that a notebook launches is started on a cluster.

    labkit launch program.py --nodes 2 --ranks 4

torchrun's command was run here; the Slurm script and the Kubernetes job were not. Sources: the
manual pages of torchrun and of sbatch, and the PyTorchJob (kubeflow.org/v1) of Kubeflow's training
operator, whose container has to be called `pytorch`. All of them are for internal networks only.
"""

import re
import shlex
from pathlib import PurePosixPath

PORT = 29_500  # torchrun's usual one
INTERNAL = "# In internal networks only: who reaches torchrun's ports can run code in all ranks."
NOT_RUN = "# Not run here: there was no {what} to run it on."


def all_ways(program: str, nodes: int, ranks: int) -> str:
    """torchrun's command, a Slurm script and a Kubernetes job, for `ranks` processes on each node.

    Raises ValueError for numbers below 1.
    """
    for name, number in (("nodes", nodes), ("ranks", ranks)):
        if number < 1:
            raise ValueError(f"--{name} is {number}; it has to be a whole number from 1 on.")
    return "\n\n".join(
        [
            f"# With torchrun{', on every node' if nodes > 1 else ''}:\n"
            + torchrun_command(program, nodes, ranks),
            "# With Slurm, as job.sh, by `sbatch job.sh`:\n" + slurm_script(program, nodes, ranks),
            "# With Kubernetes, as job.yaml, by `kubectl apply -f job.yaml`:\n"
            + kubernetes_job(program, nodes, ranks),
            INTERNAL,
        ]
    )


def torchrun_command(program: str, nodes: int = 1, ranks: int = 1, first: str = "") -> str:
    """The command that starts `ranks` processes on this node, one of `nodes`.

    first   the name or address of the first node, where the ranks meet
    """
    words = ["torchrun"]
    if nodes == 1:
        words += ["--standalone"]
    else:
        meeting = f"{first or 'FIRST-NODE'}:{PORT}"
        words += [f"--nnodes={nodes}", "--rdzv-backend=c10d", f"--rdzv-endpoint={meeting}"]
    words += [f"--nproc-per-node={ranks}", program]
    return shlex.join(words)


def slurm_script(program: str, nodes: int, ranks: int) -> str:
    """A batch script: one task per node, which runs torchrun."""
    name = PurePosixPath(program).stem
    run = torchrun_command(program, nodes, ranks, first="$first")
    run = run.replace("'", '"') if "$first" in run else run
    return "\n".join(
        [
            "#!/bin/bash",
            NOT_RUN.format(what="cluster with Slurm"),
            f"#SBATCH --job-name={name}",
            f"#SBATCH --nodes={nodes}",
            "#SBATCH --ntasks-per-node=1",
            f"#SBATCH --cpus-per-task={ranks}",
            "# Without GPUs, leave the next line out.",
            f"#SBATCH --gpus-per-node={ranks}",
            'first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
            f"srun {run}",
        ]
    )


def kubernetes_job(program: str, nodes: int, ranks: int) -> str:
    """A PyTorchJob of Kubeflow's training operator, in YAML."""
    name = re.sub(r"[^a-z0-9]+", "-", PurePosixPath(program).stem.lower()).strip("-") or "program"
    return "\n".join(
        [
            NOT_RUN.format(what="Kubernetes cluster"),
            "apiVersion: kubeflow.org/v1",
            "kind: PyTorchJob",
            "metadata:",
            f"  name: {name}",
            "spec:",
            f'  nprocPerNode: "{ranks}"',
            "  pytorchReplicaSpecs:",
            *_replicas("Master", 1, program),
            *(_replicas("Worker", nodes - 1, program) if nodes > 1 else []),
        ]
    )


def _replicas(kind: str, count: int, program: str) -> list[str]:
    return [
        f"    {kind}:",
        f"      replicas: {count}",
        "      restartPolicy: OnFailure",
        "      template:",
        "        spec:",
        "          containers:",
        "          - name: pytorch",
        "            image: YOUR-IMAGE  # with PyTorch, labkit and the program",
        f'            command: ["torchrun", "{program}"]',
    ]
