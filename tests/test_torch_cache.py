"""labkit.torch_cache: nothing that PyTorch compiles lies where strangers could have been first."""

import ast
import getpass
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from labkit.torch_cache import keep_compiled_by_torch, name_folder
from tests.night import others_by_night

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """No folder is chosen, and those of labkit and of temporary files are here."""
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    for variable in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        monkeypatch.setenv(variable, "")  # put back at the end
        monkeypatch.delenv(variable)


def test_what_torch_compiles_is_kept_where_nobody_else_may_write(
    environment, tmp_path, monkeypatch
):
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    keep_compiled_by_torch()
    folder = tmp_path / "cache" / "torchinductor"
    assert cache_dir() == str(folder) and folder.stat().st_mode & 0o077 == 0
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match=r"Other users may write.*TORCHINDUCTOR_CACHE_DIR"):
        keep_compiled_by_torch()


def test_torch_s_own_choice_is_not_the_user_s(environment, tmp_path, monkeypatch):
    """PyTorch notes it in the environment, from where each process that is started has it."""
    guessed = tmp_path / "tmp" / "torchinductor_me"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(guessed))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(guessed / "triton" / "0"))
    keep_compiled_by_torch()
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == str(tmp_path / "cache" / "torchinductor")
    assert "TRITON_CACHE_DIR" not in os.environ


@pytest.mark.parametrize("variable", ["TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"])
def test_a_folder_that_is_chosen_is_looked_at(environment, variable, tmp_path, monkeypatch):
    chosen, link = tmp_path / "torchinductor_kept" / "new", tmp_path / "link"
    link.symlink_to(chosen)
    monkeypatch.setenv(variable, str(chosen))
    keep_compiled_by_torch()
    assert os.environ[variable] == str(chosen) and chosen.stat().st_mode & 0o077 == 0
    monkeypatch.setenv(variable, str(link))
    keep_compiled_by_torch()
    assert os.environ[variable] == str(chosen), "the link may lead elsewhere tomorrow"
    chosen.chmod(0o777)
    with pytest.raises(PermissionError, match=f"Other users may write .*{variable}"):
        keep_compiled_by_torch()


def test_a_kernel_names_the_folder_at_its_start(environment, tmp_path, monkeypatch):
    folder = tmp_path / "cache" / "torchinductor"
    name_folder()
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    folder.chmod(0o777)
    name_folder()
    assert "TORCHINDUCTOR_CACHE_DIR" not in os.environ, "a folder that is open to others"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/chosen")
    name_folder()
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "/chosen"


def test_a_file_where_pytorch_wants_a_folder_stops_no_lesson(environment, tmp_path):
    """Whoever made it first could else stop each optimizer of PyTorch."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / f"torchinductor_{getpass.getuser()}").touch()
    name_folder()
    words = [sys.executable, "-c", "import torch._dynamo"]
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    subprocess.run(words, check=True, env=environment)


COMPILES = """
import os, sys, torch
from pathlib import Path
from tempfile import gettempdir
from getpass import getuser

guessed = Path(gettempdir(), f"torchinductor_{getuser()}")
guessed.mkdir(parents=True)
guessed.chmod(0o777)
if os.getuid() == 0:
    os.chown(guessed, 65534, -1)
exec(sys.argv[1])
print(os.environ["TORCHINDUCTOR_CACHE_DIR"], [str(path) for path in guessed.rglob("*")])
"""
COMPILERS = {
    "lesson a_training_step": "from labkit_lessons.gpu.a_training_step_on_the_gpu import inductor\n"
    "inductor.compiled_loops(torch.relu, torch.ones(3))",
    "lesson fine_tuning": "import labkit.distributed.gpt.training\n"
    "from labkit_lessons.distributed.fine_tuning_and_compilers import compiled\n"
    "compiled.compiled(torch.relu, torch.ones(3))",
    "a report of a GPU": "import torch._inductor.utils\n"
    "from labkit.gpu.report.sections import training\n"
    "f = torch.nn.functional\n"
    "side = training.trainer(torch.nn.Linear(2, 2), (f.cross_entropy, torch.optim.SGD), 'cpu',"
    " backend='inductor')\n"
    "side((torch.ones(3, 2), torch.ones(3, dtype=int)), ())()",
}


NOTHING = "tests/test_torch_cache.py::test_nothing_is_compiled_where_a_stranger_was_first"
PROGRAMS = others_by_night([*COMPILERS.values()], NOTHING)


@pytest.mark.parametrize("program", PROGRAMS, ids=COMPILERS)
def test_nothing_is_compiled_where_a_stranger_was_first(program, tmp_path):
    """The folder that PyTorch would take is there already, open to others, or another user's."""
    chosen = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
    environment = {name: text for name, text in os.environ.items() if name not in chosen}
    environment |= {"TMPDIR": str(tmp_path / "tmp"), "LABKIT_CACHE": str(tmp_path / "cache")}
    (tmp_path / "tmp").mkdir()
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    words = [sys.executable, "-c", COMPILES, program]
    done = subprocess.run(words, stdout=-1, text=True, check=True, env=environment)
    kept = tmp_path / "cache" / "torchinductor"
    assert done.stdout.splitlines()[-1] == f"{kept} []"
    assert kept.stat().st_uid == os.getuid() and kept.stat().st_mode & 0o777 == 0o700


def test_whoever_compiles_with_torch_has_chosen_the_folder_before():
    """In the same function, above the compiler's import and its call."""
    found = 0
    for path in [*(ROOT / "labkit").rglob("*.py"), *(ROOT / "chapters").glob("*/source/**/*.py")]:
        if path.name.startswith(("test_", "torch_cache")):
            continue
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef):
                text = ast.unparse(function)
                uses = [text.find(word) for word in ("from torch._inductor", "torch.compile(")]
                if uses := [place for place in uses if place >= 0]:
                    assert 0 <= text.find("keep_compiled_by_torch()") < min(uses), path
                    found += 1
    assert found >= 3
