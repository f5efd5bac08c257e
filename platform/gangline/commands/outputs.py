"""`gangline outputs`: the files that a job left."""

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gangline.connection import connect
from gangline.errors import BadUsage
from gangline.lookup import find_job_id
from gangline.parameters import JobReference
from gangline.render import Column, Format, Output, emit
from gangline.units import moment, plain, size
from gangline.words import say

if TYPE_CHECKING:
    from gangline.client import Portal

Json = dict[str, Any]
group = typer.Typer(help="Files that jobs left in their output folder.", no_args_is_help=True)

COLUMNS = (
    Column("PATH", lambda item: item["path"]),
    Column("SIZE", lambda item: size(item["size_bytes"]), right=True),
    Column("SAVED", lambda item: moment(item.get("created_at"))),
    Column("SHA-256", lambda item: item.get("sha256")),
)


@group.command("list")
def list_outputs(ctx: typer.Context, *, job: JobReference, output: Output = Format.TABLE) -> None:
    """List the files that a job left."""
    with connect(ctx) as portal:
        found = list(portal.pages(f"jobs/{find_job_id(portal, job)}/outputs"))
    emit(found, output=output, columns=COLUMNS, name=lambda item: item["path"])


@group.command("get")
def get(
    ctx: typer.Context,
    *,
    job: JobReference,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH...", help="By default every file.")
    ] = None,
    to: Annotated[Path, typer.Option(help="The folder to write to.")] = Path(),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that are there already.")
    ] = False,
) -> None:
    """Download files that a job left, under their own names."""
    with connect(ctx) as portal:
        job_id = find_job_id(portal, job)
        wanted = _chosen(list(portal.pages(f"jobs/{job_id}/outputs")), paths or [])
        targets = [(item, _target(to, item["path"], overwrite)) for item in wanted]
        for item, target in targets:
            _fetch(portal, f"jobs/{job_id}/outputs/{item['id']}", target)
            typer.echo(f"{plain(target)}  {size(item['size_bytes'])}")


def _chosen(found: list[Json], paths: list[str]) -> list[Json]:
    by_path = {
        item["path"]: item for item in found
    }  # a later attempt's file of the same name comes last and wins
    missing = [path for path in paths if path not in by_path]
    if missing:
        raise BadUsage(
            say("The job left no file “{path}”.", path=missing[0]), todo=say("See `gangline outputs list`.")
        )
    return [by_path[path] for path in paths] if paths else list(by_path.values())


def _target(folder: Path, path: str, overwrite: bool) -> Path:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise BadUsage(
            say("The output's name “{path}” would leave the folder; it was not written.", path=path)
        )
    target = folder.joinpath(*parts)
    if target.exists() and not overwrite:
        raise BadUsage(
            say("{path} is there already.", path=target),
            todo=say("Give --overwrite, or another folder with --to."),
        )
    return target


def _fetch(portal: "Portal", address: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.part")
    with portal.download(address) as chunks, draft.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
    draft.replace(target)
