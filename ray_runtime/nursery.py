"""One small, single-threaded process per agent that forks a rank host per attempt.

Forking takes a millisecond where a fresh interpreter takes 20 to 45, and Ray's own worker must never fork.
Started by the agent as `python -I -S -c ...`, with one end of a socket as its standard input. When that
closes, the agent is dead, and everything goes.

Agent to nursery: an 8-byte host number with one descriptor, the host's end of its control socket.
Nursery to agent: one line with the mode, then a host's number per line when nothing of it is left.
"""

import contextlib
import os
import selectors
import signal
import socket
import struct
import sys

from ray_runtime import linux, process_tree
from ray_runtime.rank_host import be_rank_host

NUMBER = struct.Struct("!Q")


class Nursery:
    """Forks hosts on request and tells when one has ended with all its processes."""

    def __init__(self, agent: socket.socket, *, namespace: bool) -> None:
        self._agent = agent
        self._namespace = namespace
        self._hosts: dict[int, int] = {}  # PID -> host number

    def serve(self) -> None:
        """Until the agent is gone; then end all hosts."""
        reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        with selectors.DefaultSelector() as selector:
            selector.register(self._agent, selectors.EVENT_READ)
            selector.register(reader, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if reader in ready:
                    os.read(reader, 4096)
                    self._reap()
                if self._agent in ready and not self._fork_host():
                    break
        self._end_all()

    def _fork_host(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._agent, NUMBER.size, 1)
        if not data:
            return False
        control = socket.socket(fileno=descriptors[0])
        pid = linux.fork_into_new_pid_namespace() if self._namespace else os.fork()
        if pid == 0:
            _be_host(control, namespace=self._namespace)
        self._hosts[pid] = NUMBER.unpack(data)[0]
        control.close()
        return True

    def _reap(self) -> None:
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            number = self._hosts.pop(pid, None)
            if number is not None:
                self._sweep()
                with contextlib.suppress(OSError):  # a dead agent shows as a closed socket in the next round
                    self._agent.sendall(f"{number}\n".encode())

    def _sweep(self) -> None:
        """End what a host left to us. Only without namespaces, and only if the host itself was killed."""
        if self._namespace:
            return
        while True:
            orphans = [pid for pid in process_tree.children(os.getpid()) if pid not in self._hosts]
            if not orphans:
                return
            for pid in orphans:
                process_tree.kill_descendants(pid)
                process_tree.kill(pid, signal.SIGKILL)
                _wait(pid)

    def _end_all(self) -> None:
        """Killing a namespace's first process ends all of it; a sub-reaper must be asked to. Then sweep."""
        for pid in self._hosts:
            process_tree.kill(pid, signal.SIGKILL if self._namespace else signal.SIGTERM)
        for pid in list(self._hosts):
            _wait(pid)
        self._hosts.clear()
        self._sweep()


def main() -> None:
    """Entry point of the nursery's process; `subreaper` as argument forbids namespaces (for tests)."""
    os.setsid()
    agent = socket.socket(fileno=os.dup(0))
    agent.set_inheritable(False)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    namespace = "subreaper" not in sys.argv and linux.can_use_pid_namespaces()
    if not namespace:
        linux.become_subreaper()
    agent.sendall(b"namespace\n" if namespace else b"subreaper\n")
    Nursery(agent, namespace=namespace).serve()


def _be_host(control: socket.socket, *, namespace: bool) -> None:
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        keep = os.dup2(control.detach(), 3)
        os.closerange(4, 1 << 20)
        be_rank_host(socket.socket(fileno=keep), namespace=namespace)
    finally:  # never back into the nursery's frames
        kind, error, trace = sys.exc_info()
        if kind is not None and error is not None:
            sys.excepthook(kind, error, trace)
        os._exit(0 if kind is None else 1)


def _wait(pid: int) -> None:
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        return
