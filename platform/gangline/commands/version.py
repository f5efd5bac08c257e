"""`gangline version`: ours and the portal's."""

from typing import Any

import typer

from gangline import VERSION
from gangline.connection import connect
from gangline.errors import CommandError
from gangline.render import Column, Format, Output, emit
from gangline.words import say

COLUMNS = (
    Column("Client", lambda versions: versions["client"]),
    Column("Portal", lambda versions: versions["portal"] or say("not reachable")),
)


def command(
    ctx: typer.Context,
    *,
    output: Output = Format.TABLE,
) -> None:
    """Show the version of this client and of the portal."""
    emit(_versions(ctx), output=output, columns=COLUMNS, name=lambda versions: versions["client"])


def _versions(ctx: typer.Context) -> dict[str, Any]:
    try:
        with connect(ctx, patience_seconds=0) as portal:
            answer = portal.get("version")
    except CommandError:
        return {"client": VERSION, "portal": None}
    return {"client": VERSION, "portal": answer["version"]}
