"""`gangline init`: a job to start from."""

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from gangline.errors import BadUsage
from gangline.words import say

FILES = ("job.yaml", "train.py", ".ganglineignore")


def command(
    folder: Annotated[Path, typer.Argument(help="Where to write the files.")] = Path(),
) -> None:
    """Write a job file and a small training script that saves and resumes. Never overwrites a file."""
    present = [name for name in FILES if (folder / name).exists()]
    if present:
        raise BadUsage(
            say("{path} is there already.", path=folder / present[0]), todo=say("Choose another folder.")
        )
    folder.mkdir(parents=True, exist_ok=True)
    skeleton = resources.files("gangline") / "skeleton"
    for name in FILES:
        source = skeleton / name.lstrip(".")
        (folder / name).write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
        typer.echo(say("wrote {path}", path=folder / name))
    typer.echo(
        "\n" + say("Set `queue` in {path} to one of `gangline queues`, then:", path=folder / "job.yaml")
    )
    typer.echo(f"  gangline submit -f {folder / 'job.yaml'} --watch")
