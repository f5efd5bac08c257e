"""What every command starts with: the portal of the profile in force."""

from typing import TYPE_CHECKING

import typer

from gangline.config import Profile, load_profile
from gangline.words import say

if TYPE_CHECKING:
    from gangline.client import Portal

DEFAULT_PATIENCE_SECONDS = 5.0


def connect(
    ctx: typer.Context, *, profile: Profile | None = None, patience_seconds: float | None = None
) -> "Portal":
    """The portal to talk to. The HTTP library is loaded only here, so that help and completion are quick."""
    from gangline.client import Portal

    chosen = ctx.find_root().obj if patience_seconds is None else patience_seconds
    return Portal(profile or load_profile(), patience_seconds=chosen, on_trouble=_tell)


def _tell(message: str) -> None:
    typer.echo(say("{message} Trying again...", message=message), err=True)
