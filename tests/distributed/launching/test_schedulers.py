"""`labkit launch`: the command runs, and the scripts say what they have to."""

import shlex
import subprocess
import sys

import pytest
import yaml

from labkit.cli import main
from labkit.distributed.launching.schedulers import kubernetes_job, slurm_script, torchrun_command


def test_torchrun_s_command_runs(tmp_path):
    program = tmp_path / "a program.py"
    program.write_text("import os\nprint(os.environ['RANK'], os.environ['WORLD_SIZE'])\n")
    words = shlex.split(torchrun_command(str(program), 1, 2))
    assert words[0] == "torchrun"
    command = [sys.executable, "-m", "torch.distributed.run", *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert sorted(done.stdout.splitlines()) == ["0 2", "1 2"], done.stderr


def test_on_many_nodes():
    assert torchrun_command("p.py", 2, 4, "node1") == (
        "torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=node1:29500 "
        "--nproc-per-node=4 p.py"
    )


def test_slurm(tmp_path):
    script = slurm_script("train.py", 3, 2)
    path = tmp_path / "job.sh"
    path.write_text(script)
    subprocess.run(["bash", "-n", str(path)], check=True)
    assert "#SBATCH --nodes=3" in script and "Not run here" in script
    assert 'srun torchrun --nnodes=3 --rdzv-backend=c10d "--rdzv-endpoint=$first:29500"' in script


@pytest.mark.parametrize("nodes", [1, 3])
def test_kubernetes(nodes):
    job = kubernetes_job("runs/Train it.py", nodes, 2)
    assert "Not run here" in job
    made = yaml.safe_load(job)
    assert made["kind"] == "PyTorchJob" and made["metadata"]["name"] == "train-it"
    specs = made["spec"]["pytorchReplicaSpecs"]
    assert sum(spec["replicas"] for spec in specs.values()) == nodes
    assert made["spec"]["nprocPerNode"] == "2"


def test_the_command(capsys):
    assert main(["launch", "train.py", "--nodes", "2", "--ranks", "4"]) == 0
    said = capsys.readouterr().out
    assert "--nnodes=2" in said and "sbatch" in said and "kubectl" in said
    assert main(["launch", "train.py", "--ranks", "0"]) == 1
    assert "--ranks is 0" in capsys.readouterr().err
