"""`labkit lab`: JupyterLab on the learner's folder, opened at the start page, quiet offline."""

import importlib.util
import os
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from labkit.course import CourseError, start
from labkit.course.config import Config
from labkit.files import LONGEST_SOCKET
from numba_simt.owned_files import refuse_others

# Pages open as pages, neither as text nor as notebooks; no news; the kernel is kernel.py.
SETTINGS = Path(__file__).with_name("jupyter")


def lab(config: Config, arguments: Sequence[str] = ()) -> int:
    """Write the start page and become JupyterLab; returns only if that fails.

    The learner's own arguments win: JupyterLab refuses an option that is given twice.
    """
    root, work = config.course_root(), config.work
    if importlib.util.find_spec("jupyterlab") is None:
        raise CourseError("JupyterLab is not installed in this Python: run `make lab`.")
    try:
        start.write(config)
    except OSError as error:
        why = f"{work} cannot be written to ({error.strerror})"
        raise CourseError(f"{why}: set LABKIT_WORK to a folder of your own.") from error
    ours = [
        f"--ServerApp.root_dir={work}",
        "--ServerApp.ip=127.0.0.1",  # a name could lead to an address that somebody else listens at
        "--ServerApp.contents_manager_class=labkit.course.contents.LessonContents",
        f"--LabApp.default_url=/lab/tree/{start.PAGE}",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
        "--LabApp.custom_css=True",  # jupyter/custom: dark pictures, columns
        *_kernels_by_files(),
        *(["--allow-root"] if os.geteuid() == 0 else []),  # in a container there is only root
    ]
    given = {word.partition("=")[0] for word in arguments}
    given |= {"--ServerApp.ip"} if "--ip" in given else set()
    kept = [word for word in ours if word.partition("=")[0] not in given]
    # -P: its modules come from where they are installed, and not from where this is called.
    command = [sys.executable, "-P", "-m", "jupyterlab", *kept, *arguments]
    environment = {
        **os.environ,
        "LABKIT_ROOT": str(root),
        "LABKIT_WORK": str(work),
        "PATH": _with_our_commands(os.environ.get("PATH", os.defpath)),  # of its terminals
        **{name: _ours_first(name) for name in ("JUPYTER_CONFIG_PATH", "JUPYTER_PATH")},
        "JUPYTERLAB_WORKSPACES_DIR": str(work / ".labkit" / "workspaces"),
    }
    _warn_of_others(work)
    print(f"Opening {start.PAGE}; your copies of the lessons are in {work}.", flush=True)
    return os.execve(command[0], command, environment)


def _with_our_commands(path: str) -> str:
    """PATH with the folder of this Python's commands first: `labkit` is one of them."""
    return f"{Path(sys.executable).parent}{os.pathsep}{path}"


def _ours_first(name: str) -> str:
    """A list of folders of the environment, with SETTINGS before the learner's own."""
    own = os.environ.get(name)
    return f"{SETTINGS}{os.pathsep}{own}" if own else str(SETTINGS)


def _warn_of_others(work: Path) -> None:
    """Says it where others write to the learner's folder; not refused, as WSL's disks look so."""
    try:
        refuse_others(work, "LABKIT_WORK")
    except PermissionError:
        print(
            f"Other users may write to {work}, or to a folder above it: lessons there import the "
            "modules beside them, also theirs, and run them with your rights. Set LABKIT_WORK to a "
            "folder of your own.",
            flush=True,
        )


def _kernels_by_files() -> list[str]:
    """Has kernels talk through socket files in Jupyter's runtime folder, made for its owner alone.

    Over TCP any user of this computer could subscribe to what a kernel tells of its cells. It stays
    TCP on Windows, and, with a line that says so, where the files' paths would be too long.
    """
    if sys.platform == "win32":
        return []
    from jupyter_core.paths import jupyter_runtime_dir

    folder = jupyter_runtime_dir()
    name = f"kernel-{uuid.UUID(int=0)}-ipc-99"
    if len(os.fsencode(os.path.join(folder, name))) > LONGEST_SOCKET:
        print(
            f"The path of Jupyter's runtime folder, {folder}, is too long for socket files: other "
            "users of this computer can read what your kernels print. Set JUPYTER_RUNTIME_DIR to "
            "a shorter one that only you can enter.",
            flush=True,
        )
        return []
    return ["--KernelManager.transport=ipc"]
