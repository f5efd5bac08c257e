"""The few Linux calls that Python 3.11 lacks, by ctypes: namespaces, parent-death signal, sub-reaper.

Standard library only, and imported once per node by the nursery: ctypes costs some milliseconds.
"""

import ctypes
import os
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CLONE_NEWNS = 0x00020000
_CLONE_NEWPID = 0x20000000
_FALLOC_FL_KEEP_SIZE, _FALLOC_FL_PUNCH_HOLE = 1, 2
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_MS_REC, _MS_SLAVE = 0x4000, 0x80000

_libc = ctypes.CDLL(None, use_errno=True)


def set_parent_death_signal(signal: int) -> None:
    """Ask for `signal` when the thread that forked this process ends. A later setuid would clear it."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0))


def become_subreaper() -> None:
    """Orphans below this process become its children instead of init's."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def fork_into_new_pid_namespace() -> int:
    """`os.fork`, with the child as process 1 of a new PID namespace. Needs CAP_SYS_ADMIN."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc.unshare(_CLONE_NEWPID))
        child = os.fork()
        if child:
            # A second unshare fails unless later children are first sent back to our own namespace.
            _check(_libc.setns(own, _CLONE_NEWPID))
        return child
    finally:
        os.close(own)


def mount_own_proc() -> None:
    """Give this process and its children a /proc that shows their own PID namespace.

    Without it `psutil.Process()` and debuggers look up their PID among the host's processes.
    """
    _check(_libc.unshare(_CLONE_NEWNS))
    _check(_libc.mount(b"none", b"/", None, _MS_REC | _MS_SLAVE, None))
    _check(_libc.mount(b"proc", b"/proc", b"proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, None))


def can_use_pid_namespaces() -> bool:
    """Whether this process may do both; tried in children, since rules of containers cannot be read off."""
    try:
        child = fork_into_new_pid_namespace()
    except OSError:
        return False
    if child == 0:
        try:
            mount_own_proc()
            os._exit(0 if Path("/proc/1").exists() else 1)
        except OSError:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def punch_hole(path: str, *, start: int, end: int) -> None:
    """Give back the disk blocks between two offsets of a file; they read as zeros, its size stays."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        mode = _FALLOC_FL_PUNCH_HOLE | _FALLOC_FL_KEEP_SIZE
        _check(_libc.fallocate(descriptor, mode, ctypes.c_long(start), ctypes.c_long(end - start)))
    finally:
        os.close(descriptor)


def _check(result: int) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
