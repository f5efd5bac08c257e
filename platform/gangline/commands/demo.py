"""`gangline demo`: see it work, from nothing."""

import os

import typer


def command() -> None:
    """Start a platform on this machine and watch three jobs share it: borrow, give back, preempt, resume.

    It stays up until Ctrl-C; with DEMO_EXIT=1 it stops by itself, with exit code 0 only if all went right.
    """
    from gangline.demo.performance import perform

    raise typer.Exit(perform(leave_when_done=bool(os.environ.get("DEMO_EXIT"))))
