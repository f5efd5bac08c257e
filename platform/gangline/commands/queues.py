"""`gangline queues`: the queue tree and how full it is."""

import typer

from gangline.connection import connect
from gangline.queues_shown import QUEUE_TABLE
from gangline.render import Format, Output, emit


def command(ctx: typer.Context, *, output: Output = Format.TABLE) -> None:
    """List queues with guarantee, limit, and what is used, borrowed and waited for."""
    with connect(ctx) as portal:
        queues = list(portal.pages("queues"))
    emit(queues, output=output, columns=QUEUE_TABLE, name=lambda queue: queue["path"])
