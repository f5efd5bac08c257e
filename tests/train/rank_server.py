"""Forks ranks that have torch already: real processes, without a second of imports for each.

Reads one JSON line for each rank, `{key, module | path, environ, folder, output}`, and answers with a line
`{key, pid}` when it runs and `{key, code}` when it has ended. Single-threaded, as whoever forks must be.
"""

import json
import os
import runpy
import select
import sys
import traceback
from typing import Any

_POLL_SECONDS = 0.02


def main() -> None:
    """Serve until standard input ends."""
    import torch.distributed.checkpoint

    import ray_runtime.train.recipes.gpt_pretrain  # noqa: F401  # for the children
    from ray_runtime.train.startup import spare_compiler

    spare_compiler()
    if len(os.listdir("/proc/self/task")) > 1:
        sys.exit("the rank server has more than one thread; forking is not safe")
    running: dict[int, str] = {}
    while True:
        ready, _, _ = select.select([sys.stdin.buffer.raw], [], [], _POLL_SECONDS)  # type: ignore[attr-defined]  # a pipe
        if ready:
            line = sys.stdin.buffer.raw.readline()  # type: ignore[attr-defined]  # unbuffered: select sees all of it
            if not line:
                return
            _fork(json.loads(line), running)
        _reap(running)


def _fork(order: dict[str, Any], running: dict[int, str]) -> None:
    pid = os.fork()
    if pid == 0:
        _become(order)
    running[pid] = order["key"]
    _answer({"key": order["key"], "pid": pid})


def _reap(running: dict[int, str]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        _answer({"key": running.pop(pid), "code": os.waitstatus_to_exitcode(status)})


def _answer(message: dict[str, Any]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def _become(order: dict[str, Any]) -> None:
    """The rest of the child's life."""
    code = 1
    try:
        output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        silent = os.open(os.devnull, os.O_RDONLY)
        os.dup2(silent, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.environ.update(order["environ"])
        os.chdir(order["folder"])
        sys.argv = [order.get("path") or order["module"]]
        code = _run(order)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run(order: dict[str, Any]) -> int:
    try:
        if "module" in order:
            runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(order["path"], run_name="__main__")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()
