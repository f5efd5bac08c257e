"""The process that owns all processes of one attempt on one node, so that none can outlive it.

It is process 1 of a PID namespace where that is allowed (the kernel then ends everything with it), else a
sub-reaper that hunts orphans down. It starts the ranks, passes SIGTERM on, kills at the deadline and talks
JSON lines with the agent over a socket; when that socket closes (the agent died), everything dies.
Standard library only; forked from the nursery.

Agent to host: the plan {"ranks": [...], "exits": path} first, then {"stop": grace seconds}.
Host to agent: {"started": [ranks]}, {"exit": rank, "code": n, "at_ms": t}, {"gone": true} as the last.
"""

import json
import os
import selectors
import signal
import socket
import time
from pathlib import Path
from typing import Any

from ray_runtime import linux, process_tree
from ray_runtime.start import RankPlan, start_rank

_SHELLS = {"sh", "dash", "bash", "busybox"}


class RankHost:
    """Runs one attempt's ranks on this node until the last process is gone."""

    def __init__(self, control: socket.socket, *, namespace: bool) -> None:
        self._control = control
        self._namespace = namespace
        self._inbox = b""
        self._mains: dict[int, int] = {}  # PID of a rank's main process -> rank
        self._wards: set[int] = set()  # what a stopping host still waits for
        self._exits: Path | None = None
        self._deadline: float | None = None
        self._stopping = False
        self._must_end = False

    def run(self) -> None:
        """Serve until nothing is left. Returns only when every process of the attempt is gone."""
        wakeup = _wake_on_children()
        signal.signal(signal.SIGTERM, self._end)  # the nursery is gone or closing
        plan = self._first_message()
        if plan is not None:
            self._start(plan)
            self._watch(wakeup)
        self._end_all()
        self._send({"gone": True})

    def _first_message(self) -> dict[str, Any] | None:
        while True:
            messages = self._receive()
            if messages is None:
                return None
            if messages:
                return messages[0]

    def _start(self, plan: dict[str, Any]) -> None:
        self._exits = Path(plan["exits"])
        plans = [RankPlan.from_json(item) for item in plan["ranks"]]
        for rank_plan in plans:
            self._mains[start_rank(rank_plan)] = rank_plan.rank
        self._wards = set(self._mains)
        self._send({"started": [rank_plan.rank for rank_plan in plans]})

    def _watch(self, wakeup: int) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(wakeup, selectors.EVENT_READ)
            selector.register(self._control, selectors.EVENT_READ)
            while self._wards and not self._must_end:
                timeout = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
                ready = {key.fileobj for key, _ in selector.select(timeout)}
                if wakeup in ready:
                    os.read(wakeup, 4096)
                if self._control in ready and not self._obey():
                    self._exits = None
                    return
                self._reap()
                if self._deadline is not None and time.monotonic() >= self._deadline:
                    return

    def _end(self, _number: int, _frame: object) -> None:
        self._must_end = True
        self._exits = None

    def _obey(self) -> bool:
        """Carry out what the agent says; False: the agent is gone."""
        messages = self._receive()
        if messages is None:
            return False
        for message in messages:
            self._stop(float(message["stop"]))
        return True

    def _stop(self, grace: float) -> None:
        """SIGTERM once; a repeat can only bring the deadline nearer."""
        deadline = time.monotonic() + grace
        self._deadline = deadline if self._deadline is None else min(self._deadline, deadline)
        if self._stopping:
            return
        self._stopping = True
        for main in list(self._mains):
            self._terminate(main)

    def _terminate(self, main: int) -> None:
        """SIGTERM to a rank. A shell dies of it without telling its children, so they get it as well.

        Only then: a program's own helpers (data loaders) must live on while it saves.
        """
        targets = [main]
        if _name(main) in _SHELLS:
            targets += process_tree.children(main)
        self._wards.update(targets)
        for pid in targets:
            process_tree.kill(pid, signal.SIGTERM)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._wards.clear()
                return
            if pid == 0:
                return
            self._note(pid, os.waitstatus_to_exitcode(status))

    def _note(self, pid: int, code: int) -> None:
        self._wards.discard(pid)
        rank = self._mains.pop(pid, None)
        if rank is None:
            return
        line = json.dumps({"exit": rank, "code": code, "at_ms": time.time_ns() // 1_000_000})
        if self._exits is not None:  # an agent that comes back reads it there; we killed the rest, with it
            with self._exits.open("a") as file:
                file.write(line + "\n")
        self._send(json.loads(line))

    def _end_all(self) -> None:
        """SIGKILL until nobody is left, orphans and their children included."""
        while True:
            self._kill_all()
            self._reap()
            try:
                os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | (0 if self._namespace else os.WNOHANG))
            except ChildProcessError:
                return
            if not self._namespace:
                time.sleep(0.002)

    def _kill_all(self) -> None:
        if not self._namespace:
            process_tree.kill_descendants(os.getpid())
            return
        process_tree.kill(-1, signal.SIGKILL)  # process 1 reaches all of its namespace but itself

    def _receive(self) -> list[dict[str, Any]] | None:
        """Whole messages that have arrived; None when the other end is closed."""
        try:
            data = self._control.recv(65536)
        except ConnectionError:
            return None
        if not data:
            return None
        *lines, self._inbox = (self._inbox + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self._control.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            return  # the agent is gone: the closed socket says so in the next round


def be_rank_host(control: socket.socket, *, namespace: bool) -> None:
    """What the nursery's forked child does: become the root of the attempt's tree, then run it."""
    if namespace:
        linux.set_parent_death_signal(signal.SIGKILL)
        linux.mount_own_proc()
    else:
        linux.become_subreaper()
        linux.set_parent_death_signal(signal.SIGTERM)  # SIGKILL would leave the tree alone
    RankHost(control, namespace=namespace).run()


def _wake_on_children() -> int:
    """A descriptor that becomes readable when a child ends."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return reader


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
