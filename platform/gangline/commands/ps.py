"""`gangline ps`: the jobs of your teams."""

import itertools
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gangline.connection import connect
from gangline.jobs_shown import JOB_TABLE
from gangline.render import Format, Output, console, emit, table

if TYPE_CHECKING:
    from gangline.client import Portal

Json = dict[str, Any]
LIVE = ("queued", "held", "starting", "running", "stopping")
REFRESH_SECONDS = 2.0
WATCH_PATIENCE_SECONDS = 3600.0


def command(
    ctx: typer.Context,
    *,
    everything: Annotated[bool, typer.Option("-a", "--all", help="Ended jobs too.")] = False,
    watch: Annotated[
        bool, typer.Option("-w", "--watch", help="Keep the list up to date until Ctrl-C.")
    ] = False,
    state: Annotated[
        list[str] | None, typer.Option(help="Only jobs in this state (may be repeated).")
    ] = None,
    queue: Annotated[str | None, typer.Option(help="Only jobs of this queue.")] = None,
    team: Annotated[str | None, typer.Option(help="Only jobs of this team.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only jobs of this user.")] = None,
    search: Annotated[str | None, typer.Option(help="Only jobs whose name holds this text.")] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only your own jobs.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, newest first.")] = 100,
    output: Output = Format.TABLE,
) -> None:
    """List jobs: those that wait or run, or all of them with -a."""
    states = state or (None if everything else list(LIVE))
    filters = {
        "state": states,
        "queue": queue,
        "team": team,
        "owner": owner,
        "search": search,
        "mine": mine or None,
    }
    with connect(ctx, patience_seconds=WATCH_PATIENCE_SECONDS if watch else None) as portal:
        if watch and output is Format.TABLE:
            _keep_showing(portal, filters, limit)
        else:
            emit(_jobs(portal, filters, limit), output=output, columns=JOB_TABLE, name=lambda job: job["id"])


def _jobs(portal: "Portal", filters: Json, limit: int) -> list[Json]:
    return list(itertools.islice(portal.pages("jobs", **filters), limit))


def _keep_showing(portal: "Portal", filters: Json, limit: int) -> None:
    from rich.live import Live

    with Live(console=console(), auto_refresh=False) as live:
        while True:
            live.update(table(_jobs(portal, filters, limit), JOB_TABLE), refresh=True)
            time.sleep(REFRESH_SECONDS)
