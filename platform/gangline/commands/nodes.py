"""`gangline nodes`: the machines, and taking them out of service."""

from typing import Annotated, Any

import typer

from gangline.connection import connect
from gangline.render import Column, Format, Output, emit
from gangline.units import plain
from gangline.words import say

Json = dict[str, Any]
group = typer.Typer(help="The cluster's machines; without a command of its own, their list.")
NodeName = Annotated[str, typer.Argument(metavar="NODE", help="The node's name.", show_default=False)]


def _state(node: Json) -> str:
    return say("{state}, cordoned", state=node["state"]) if node.get("cordoned") else str(node["state"])


def _jobs(node: Json) -> str:
    return ", ".join(f"{plain(job['name'])} {job['devices']}" for job in node.get("jobs") or ())


COLUMNS = (
    Column("NAME", lambda node: node["name"]),
    Column("STATE", _state),
    Column("TYPE", lambda node: node["accelerator_type"]),
    Column("USED", lambda node: f"{node['used']}/{node['num_accelerators']}", right=True),
    Column("ZONE", lambda node: (node.get("labels") or {}).get("gangline.zone")),
    Column("RACK", lambda node: (node.get("labels") or {}).get("gangline.rack")),
    Column("JOBS", _jobs),
    Column("PROBLEM", lambda node: node.get("problem") or node.get("cordon_reason")),
)


@group.callback(invoke_without_command=True)
def nodes(ctx: typer.Context, *, output: Output = Format.TABLE) -> None:
    """List the nodes if no command follows."""
    if ctx.invoked_subcommand is None:
        list_nodes(ctx, output=output)


@group.command("list")
def list_nodes(ctx: typer.Context, *, output: Output = Format.TABLE) -> None:
    """List the nodes, what runs on them and what is wrong with them."""
    with connect(ctx) as portal:
        nodes = list(portal.pages("cluster/nodes"))
    emit(nodes, output=output, columns=COLUMNS, name=lambda node: node["name"])


@group.command("cordon")
def cordon(
    ctx: typer.Context,
    *,
    node: NodeName,
    reason: Annotated[str, typer.Option(help="Why, for those who look at the node.")] = "",
) -> None:
    """Start nothing new on a node. What runs there goes on."""
    with connect(ctx) as portal:
        portal.post(f"nodes/{node}/cordon", {"reason": reason})
    typer.echo(say("{node} is cordoned.", node=node))


@group.command("drain")
def drain(
    ctx: typer.Context,
    *,
    node: NodeName,
    reason: Annotated[str, typer.Option(help="Why, for those who look at the node.")] = "",
) -> None:
    """Cordon a node and have its jobs save, leave and go on elsewhere."""
    with connect(ctx) as portal:
        answer = portal.post(f"nodes/{node}/drain", {"reason": reason})
    typer.echo(say("{node} is cordoned; {number} jobs leave it.", node=node, number=answer["num_leaving"]))


@group.command("uncordon")
def uncordon(ctx: typer.Context, *, node: NodeName) -> None:
    """Use a cordoned node again."""
    with connect(ctx) as portal:
        portal.post(f"nodes/{node}/uncordon")
    typer.echo(say("{node} is in use again.", node=node))
