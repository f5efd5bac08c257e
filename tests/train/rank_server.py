"""Forks ranks that have torch already: real processes, without a second of imports for each.

Reads one JSON line for each rank, `{key, module | path, environ, folder, output}`, and answers with a line
`{key, pid}` when it runs and `{key, code}` when it has ended. Single-threaded, as whoever forks must be.
"""

import json
import os
import runpy
import select
import sys
from pathlib import Path
from typing import Any

_POLL_SECONDS = 0.02


def main() -> int:
    """Serve until standard input ends; in a child, be the rank and return its exit code."""
    import torch.distributed.checkpoint  # noqa: F401  # for the children

    import ray_runtime.train.recipes.gpt_pretrain  # noqa: F401  # for the children
    from ray_runtime.train.startup import spare_compiler

    spare_compiler()
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        sys.exit("the rank server has more than one thread; forking is not safe")
    orders = os.fdopen(os.dup(0), "rb", buffering=0)  # unbuffered, so that select sees all that is there
    running: dict[int, str] = {}
    while True:
        if select.select([orders], [], [], _POLL_SECONDS)[0]:
            line = orders.readline()
            if not line:
                return 0
            order = json.loads(line)
            pid = os.fork()
            if pid == 0:
                return _be_rank(order)
            running[pid] = order["key"]
            _answer({"key": order["key"], "pid": pid})
        _reap(running)


def _reap(running: dict[int, str]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        _answer({"key": running.pop(pid), "code": os.waitstatus_to_exitcode(status)})


def _answer(message: dict[str, Any]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def _be_rank(order: dict[str, Any]) -> int:
    """The rest of the child's life; what it raises ends the interpreter as in any other program."""
    output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    silent = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((silent, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.environ.update(order["environ"])
    os.chdir(order["folder"])
    sys.argv = [order.get("path") or order["module"]]
    if "module" in order:
        runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(order["path"], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
