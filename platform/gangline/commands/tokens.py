"""`gangline tokens`: secrets for scripts."""

from typing import Annotated

import typer

from gangline.connection import connect
from gangline.render import Column, Format, Output, emit
from gangline.units import moment
from gangline.words import say

group = typer.Typer(help="Your API tokens.", no_args_is_help=True)

COLUMNS = (
    Column("ID", lambda token: token["id"]),
    Column("NAME", lambda token: token["name"]),
    Column("BEGINS WITH", lambda token: token.get("prefix")),
    Column("CREATED", lambda token: moment(token.get("created_at"))),
    Column("LAST USED", lambda token: moment(token.get("last_used_at"))),
    Column("EXPIRES", lambda token: moment(token.get("expires_at")) or say("never")),
)


@group.command("list")
def list_tokens(ctx: typer.Context, *, output: Output = Format.TABLE) -> None:
    """List your tokens; their secrets are not kept anywhere."""
    with connect(ctx) as portal:
        found = list(portal.pages("tokens"))
    emit(found, output=output, columns=COLUMNS, name=lambda token: token["id"])


@group.command("create")
def create(
    ctx: typer.Context,
    *,
    name: Annotated[str, typer.Argument(help="What it is for.", show_default=False)],
    expires: Annotated[str | None, typer.Option(help="When it ends, e.g. 2027-01-31T00:00:00Z.")] = None,
) -> None:
    """Make a token and print its secret, which is shown only this once."""
    body = {"name": name} if expires is None else {"name": name, "expires_at": expires}
    with connect(ctx) as portal:
        created = portal.post_once("tokens", body)
    typer.echo(created["token"])


@group.command("revoke")
def revoke(
    ctx: typer.Context, token: Annotated[str, typer.Argument(help="The token's id.", show_default=False)]
) -> None:
    """End a token at once."""
    with connect(ctx) as portal:
        portal.delete(f"tokens/{token}")
    typer.echo(say("Revoked."))
