"""One file per command. `register` puts them in the order in which `gangline --help` lists them."""

import typer

from gangline.commands import (
    cancel,
    checkpoints,
    clone,
    demo,
    explain,
    hold,
    init,
    login,
    logs,
    nodes,
    outputs,
    priority,
    ps,
    queues,
    quota,
    release,
    show,
    simulate,
    submit,
    tokens,
    up,
    validate,
    version,
    whoami,
)

PANELS = {
    "Jobs": (submit, validate, init, ps, show, explain, logs, outputs, checkpoints),
    "Change jobs": (cancel, hold, release, clone, priority),
    "Teams and cluster": (queues, quota, nodes, simulate),
    "Access": (login, whoami, tokens),
    "Platform": (up, demo, version),
}


def register(app: typer.Typer) -> None:
    """Add every command to the app; a module holds either `command` or, for a group, `group`."""
    for panel, modules in PANELS.items():
        for module in modules:
            name = module.__name__.rpartition(".")[2]
            group: typer.Typer | None = getattr(module, "group", None)
            if group is not None:
                app.add_typer(group, name=name, rich_help_panel=panel)
            else:
                app.command(name, rich_help_panel=panel)(module.command)
