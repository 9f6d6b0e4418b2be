"""A closed room for a program that may not be trusted: no network, no files of others, few rights.

`python -I closed_room.py SPEC` makes the room and runs `spec["module"]` in it. It uses namespaces
of Linux: a file system of its own, where parts of this one can be read and the rest is not there;
a network without a way out; processes of its own, which all end with the first. As root it becomes
another user; else it stays the same user, with no rights over others.

Python's own library alone is used until the program starts.
"""

import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import sys
from pathlib import Path

# Flags of unshare(2), mount(2), umount2(2) and prctl(2).
NEW_MOUNTS, NEW_IPC, NEW_USER = 0x20000, 0x8000000, 0x10000000
NEW_PROCESSES, NEW_NETWORK, NEW_NAME = 0x20000000, 0x40000000, 0x4000000
READ_ONLY, NO_SUID, NO_DEVICES, NO_PROGRAMS = 1, 2, 4, 8
REMOUNT, BIND, ALL_BELOW, PRIVATE = 32, 4096, 16384, 1 << 18
KEPT = {1024: 1024, 2048: 2048, 4096: 1 << 21}  # what statvfs says of times, and mount calls it
AT_ONCE = 2  # umount2: also where it is busy
DIE_WITH_PARENT, NO_NEW_RIGHTS = 1, 38
SET_FLAGS, UP = 0x8914, 0x1  # ioctl's SIOCSIFFLAGS, an interface's IFF_UP
DEVICES = ("null", "zero", "full", "random", "urandom")
LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")
SETTINGS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
SETTINGS += ("/etc/localtime",)
HOME = "/tmp/home"

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Make the room that the first argument describes, and run its program there."""
    spec = json.loads(sys.argv[1])
    die_with(spec["parent"])
    if spec["closed"]:
        unshare(spec)
        wait_for(os.fork())  # the first of the new processes: all end with it
        die_with(0)
        furnish(Path(spec["root"]), spec)
        wait_for(os.fork(), reap=True)
    else:
        os.chdir(spec["root"])
    give_up_rights(spec)
    paths = f"import sys; sys.path[:0] = {spec['path']!r}; "
    program = f"{paths}from {spec['module']} import main; main()"
    os.execve(sys.executable, [sys.executable, "-I", "-c", program], spec["environment"])


def die_with(parent: int) -> None:
    """From now on this process ends with its parent, which has this number (0: outside)."""
    if sys.platform == "linux":
        libc.prctl(DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def checked(result: int, what: str) -> None:
    """Raises OSError with the system's reason where a call has failed."""
    if result:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def unshare(spec: dict) -> None:
    """New namespaces for this process and its children."""
    flags = NEW_MOUNTS | NEW_IPC | NEW_PROCESSES | NEW_NETWORK | NEW_NAME
    user, group = os.getuid(), os.getgid()
    checked(libc.unshare(flags | (0 if user == 0 else NEW_USER)), "no namespaces")
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:  # ranks need a loopback
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sH14x", b"lo", UP))


def wait_for(child: int, reap: bool = False) -> None:
    """In the parent: ends as the child does. `reap`: meanwhile, take leave of orphans, too."""
    if child == 0:
        return
    while True:
        ended, status = os.waitpid(-1 if reap else child, 0)
        if ended == child:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


# The file system.


def furnish(root: Path, spec: dict) -> None:
    """What can be seen in the room; then it is all there is."""
    mount(None, "/", None, PRIVATE | ALL_BELOW)
    mount("tmpfs", root, "tmpfs", NO_SUID | NO_DEVICES, f"mode=755,size={spec['disk']}")
    for place in LINKS:
        if os.path.islink(place):
            inside(root, place).symlink_to(os.readlink(place))
    shown = [*(p for p in LINKS if not os.path.islink(p)), "/usr", *SETTINGS, *spec["see"]]
    for place in filter(os.path.exists, shown):
        show(root, place)
    for name in DEVICES:
        place = inside(root, f"/dev/{name}")
        place.touch()
        mount(f"/dev/{name}", place, None, BIND)
    inside(root, "/dev/fd").symlink_to("/proc/self/fd")
    for place in ("/tmp", "/dev/shm", HOME):
        inside(root, place).mkdir(exist_ok=True)
        inside(root, place).chmod(0o1777)
    hide(root, spec["hide"])
    inside(root, "/etc/passwd").write_text(f"student:x:{spec['user']}:{spec['user']}::{HOME}:\n")
    for source, place in spec["copies"]:
        copy(Path(source), inside(root, place), spec["user"])
    inside(root, "/proc").mkdir()
    mount("proc", root / "proc", "proc", NO_SUID | NO_DEVICES | NO_PROGRAMS)
    before = inside(root, "/before")
    before.mkdir()
    checked(libc.pivot_root(bytes(root), bytes(before)), "the room cannot be entered")
    os.chdir("/")
    checked(libc.umount2(b"/before", AT_ONCE), "the old file system stays")
    os.rmdir("/before")
    os.chdir("/tmp")


def mount(what: object, where: object, kind: str | None, flags: int, options: str = "") -> None:
    """mount(2)."""
    texts = [None if one is None else os.fsencode(one) for one in (what, where, kind)]
    checked(libc.mount(*texts, ctypes.c_ulong(flags), options.encode()), f"mount {where}")


def inside(root: Path, place: str) -> Path:
    """A place of the room as it is reached from outside; the folders above it are made."""
    found = root / place.lstrip("/")
    found.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    return found


def show(root: Path, place: str) -> None:
    """A file or folder at its own place, to be read alone."""
    found = inside(root, place)
    if os.path.isdir(place):
        found.mkdir(exist_ok=True)
    else:
        found.touch()
    mount(place, found, None, BIND)
    as_before = sum(flag for said, flag in KEPT.items() if os.statvfs(place).f_flag & said)
    no_programs = os.statvfs(place).f_flag & NO_PROGRAMS
    flags = REMOUNT | BIND | READ_ONLY | NO_SUID | NO_DEVICES
    mount(None, found, None, flags | as_before | no_programs)


def hide(root: Path, places: list[str]) -> None:
    """Nothing, in the place of files and folders that can be seen otherwise."""
    no_file, no_folder = inside(root, "/nothing/file"), inside(root, "/nothing/folder")
    no_file.touch()
    no_folder.mkdir()
    for place in places:
        found = root / place.lstrip("/")
        if found.exists():
            mount(no_folder if found.is_dir() else no_file, found, None, BIND)


def copy(source: Path, place: Path, user: int) -> None:
    """A file of its own; it belongs to the room's user, with the folders made for it."""
    place.write_bytes(source.read_bytes())
    for one in (place, place.parent):
        os.chown(one, user, user)
        one.chmod(0o700)


# Rights.


def give_up_rights(spec: dict) -> None:
    """Limits, in a closed room another user where this one is root, and no way back."""
    for name, most in spec["limits"].items():
        kind = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    Path("/proc/self/oom_score_adj").write_text("1000")  # the first to go where memory ends
    if spec["closed"] and os.getuid() == 0:
        os.setgroups([])
        os.setgid(spec["user"])
        os.setuid(spec["user"])
    if sys.platform == "linux":
        checked(libc.prctl(NO_NEW_RIGHTS, 1, 0, 0, 0), "rights cannot be given up")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        print(json.dumps({"closed": False, "why": str(error)}), flush=True)
        os._exit(1)
