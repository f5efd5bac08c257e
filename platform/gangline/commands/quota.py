"""`gangline quota`: what a queue is guaranteed and limited to."""

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from gangline.connection import connect
from gangline.errors import BadUsage, Refused
from gangline.queues_shown import QUEUE_TABLE
from gangline.render import Format, Output, emit
from gangline.words import say

if TYPE_CHECKING:
    from gangline.client import Portal

Json = dict[str, Any]
group = typer.Typer(help="Guarantees and limits of queues.", no_args_is_help=True)
QueuePath = Annotated[
    str, typer.Argument(metavar="QUEUE", help="The queue's path, e.g. research/nlp.", show_default=False)
]


@group.command("show")
def show(ctx: typer.Context, *, queue: QueuePath, output: Output = Format.TABLE) -> None:
    """Show one queue with the queues below it."""
    with connect(ctx) as portal:
        found = _subtree(portal, queue)
    emit(found, output=output, columns=QUEUE_TABLE, name=lambda item: item["path"])


@group.command("set")
def change(
    ctx: typer.Context,
    *,
    queue: QueuePath,
    guarantee: Annotated[
        float | None, typer.Option(min=0, help="Accelerators that it gets back when it asks.")
    ] = None,
    limit: Annotated[
        str | None, typer.Option(help="Accelerators that it never exceeds; `none` for no limit.")
    ] = None,
    weight: Annotated[int | None, typer.Option(min=1, help="Its share of what nobody is guaranteed.")] = None,
    user_limit: Annotated[
        str | None, typer.Option(help="Accelerators that each user may hold at once; `none` for no limit.")
    ] = None,
    type_guarantee: Annotated[
        list[str] | None, typer.Option(help="Of one type, as part of the guarantee: h100=4. Replaces all.")
    ] = None,
    type_limit: Annotated[
        list[str] | None, typer.Option(help="A limit of one type beside the whole: h100=8. Replaces all.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Change a queue's quota. Below present use nothing is stopped, and nothing admitted until use falls."""
    given = {
        "guarantee": guarantee,
        "weight": weight,
        "type_guarantees": _types(type_guarantee),
        "type_limits": _types(type_limit),
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if user_limit is not None:
        changes["user_limit"] = _limit(user_limit)
    if limit is not None:
        changes["limit"] = _limit(limit)
    if not changes:
        raise BadUsage(
            say("Nothing to change was given."), todo=say("Give --guarantee, --limit or --weight.")
        )
    with connect(ctx) as portal:
        changed = portal.patch(f"queues/{quote(queue)}", changes)
    emit([changed], output=output, columns=QUEUE_TABLE, name=lambda item: item["path"])


def _types(pairs: list[str] | None) -> dict[str, Any] | None:
    """Numbers by accelerator type from `h100=4`; `none` alone is no type at all."""
    if pairs is None:
        return None
    parts = [pair.partition("=") for pair in pairs if pair != "none"]
    return {name: _limit(number) for name, _equals, number in parts}


def _limit(text: str) -> Any:
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise BadUsage(
            say("“{text}” is not a number of accelerators.", text=text), todo=say("Give a number, or `none`.")
        ) from None


def _subtree(portal: "Portal", path: str) -> list[Json]:
    found = [queue for queue in portal.pages("queues") if f"{queue['path']}/".startswith(f"{path}/")]
    if not found:
        raise Refused(
            say("There is no queue “{path}”.", path=path),
            status=404,
            code="not_found",
            todo=say("See what there is with `gangline queues`."),
        )
    return found
