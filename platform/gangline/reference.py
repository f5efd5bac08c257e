"""Writes the reference of all commands: `python -m gangline.reference > docs/reference/cli.md`."""

from collections.abc import Iterator
from typing import Any

import typer
from typer.main import get_command

from gangline.errors import ExitCode
from gangline.main import app

ROOT = "gangline"
HEAD = """# Command line

Generated from the program itself (`make docs`); a test keeps it in step.

Where the portal is and who you are: `GANGLINE_URL` and `GANGLINE_TOKEN`, else the file that `gangline login`
writes (`~/.config/gangline/config.yaml`, or `GANGLINE_CONFIG`). Messages come in the language of your locale.
`-o json`, `-o yaml` and `-o name` are for programs. A job may be named by its id, the beginning of its id, or
its name; a name that two jobs share is refused with their ids.

Ctrl-C while watching or following detaches and never cancels.

| exit code | meaning |
|---|---|
"""
MEANINGS = {
    ExitCode.DONE: "done; a watched job succeeded",
    ExitCode.JOB_FAILED: "the watched job failed or was cancelled",
    ExitCode.BAD_USAGE: "bad usage: nothing was sent",
    ExitCode.REFUSED: "the portal refused",
    ExitCode.NOT_REACHABLE: "the portal could not be reached",
}


def render() -> str:
    """The whole reference as Markdown."""
    codes = "".join(f"| {code.value} | {meaning} |\n" for code, meaning in MEANINGS.items())
    root = get_command(app)
    sections = [_section(ROOT, root), *(_section(*found) for found in _commands(ROOT, root))]
    return HEAD + codes + "| 130 | detached by Ctrl-C |\n" + "".join(sections)


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    for child_name, child in getattr(command, "commands", {}).items():
        full_name = f"{name} {child_name}"
        if getattr(child, "commands", None):
            yield from _commands(full_name, child)
        else:
            yield full_name, child


def _section(name: str, command: Any) -> str:
    shown = [parameter for parameter in command.params if not _is_everywhere(parameter)]
    options = ["[OPTIONS]"] if any(_is_option(parameter) for parameter in shown) else []
    arguments = [_place(parameter) for parameter in shown if not _is_option(parameter)]
    usage = " ".join([name, *options, *(["COMMAND ..."] if name == ROOT else []), *arguments])
    text = "These options come before the command." if name == ROOT else " ".join(command.help.split())
    rows = "".join(_row(parameter) for parameter in shown)
    table = f"\n| | |\n|---|---|\n{rows}" if rows else ""
    return f"\n## {name}\n\n{text}\n\n    {usage}\n{table}"


def _row(parameter: Any) -> str:
    names = (
        ", ".join(f"`{name}`" for name in parameter.opts)
        if _is_option(parameter)
        else f"`{_label(parameter)}`"
    )
    has_default = _is_option(parameter) and parameter.default not in (None, False, "")
    default = f" Default: `{parameter.default}`." if has_default else ""
    return f"| {names} | {parameter.help or ''}{default} |\n"


def _place(parameter: Any) -> str:
    return _label(parameter) if parameter.required else f"[{_label(parameter)}]"


def _label(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _is_option(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "option")


def _is_everywhere(parameter: Any) -> bool:
    return parameter.name in ("help", "install_completion", "show_completion")


if __name__ == "__main__":
    typer.echo(render(), nl=False)
