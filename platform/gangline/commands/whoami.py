"""`gangline whoami`: the user behind the token, and what they may do where."""

from typing import Any

import typer

from gangline.connection import connect
from gangline.render import Column, Format, Output, emit
from gangline.words import say


def command(ctx: typer.Context, *, output: Output = Format.TABLE) -> None:
    """Show who you are, your teams and your roles in them."""
    with connect(ctx) as portal:
        me, url = portal.get("me"), portal.url
    columns = (
        Column("User", lambda item: item["username"]),
        Column("Portal", lambda _: url),
        Column("Platform admin", lambda item: say("yes") if item.get("is_platform_admin") else ""),
        Column("Teams", _teams),
    )
    emit(me, output=output, columns=columns, name=lambda item: item["username"])


def _teams(me: dict[str, Any]) -> str:
    return ", ".join(f"{team['slug']} ({team['role']})" for team in me.get("teams") or ())
