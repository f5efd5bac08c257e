"""Finds the server: it runs from a checkout (or an image), not from the installed client."""

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from gangline.errors import BadUsage
from gangline.words import say

SERVER_PACKAGES = ("django", "rest_framework", "celery", "uvicorn", "ray", "psycopg")
CLIENT_ONLY = ("GANGLINE_HOME", "GANGLINE_URL", "GANGLINE_TOKEN", "GANGLINE_CONFIG")


def find_checkout(environ: Mapping[str, str], start: Path) -> Path:
    """The checkout in `GANGLINE_HOME`, at or above `start`, or around this file; raises if it cannot run."""
    home = environ.get("GANGLINE_HOME")
    if home and not _is_checkout(Path(home)):
        raise BadUsage(say("GANGLINE_HOME is {home}, which is no checkout of Gangline.", home=home))
    places = [Path(home)] if home else [start, *start.parents, Path(__file__).resolve().parents[2]]
    checkout = next((place for place in places if _is_checkout(place)), None)
    if checkout is None:
        raise BadUsage(
            say("The platform itself is not here: this is the client alone."),
            todo=say("Run it inside a checkout of Gangline, or set GANGLINE_HOME to one."),
        )
    missing = [package for package in SERVER_PACKAGES if find_spec(package) is None]
    if missing:
        raise BadUsage(
            say("The platform's packages are not installed ({names}).", names=", ".join(missing)),
            todo=say(
                "Run `make setup` in {folder}, or install its extras `server` and `runtime`.", folder=checkout
            ),
        )
    return checkout.resolve()


def supervisor_command(
    *, data_dir: Path | None, port: int | None, seed: str | None, json_ready: Path | None = None
) -> list[str]:
    """The supervisor's command line, in the interpreter that runs us."""
    folder = data_dir.resolve() if data_dir else None
    options = {"--data-dir": folder, "--port": port, "--seed": seed, "--json-ready": json_ready}
    given = [part for name, value in options.items() if value is not None for part in (name, str(value))]
    return [sys.executable, "-m", "portal.supervisor", *given]


def server_environment(checkout: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Our environment with the source roots put first and without the client's own settings."""
    kept = {name: value for name, value in environ.items() if name not in CLIENT_ONLY}
    roots = [str(checkout / "platform"), str(checkout)]
    return {**kept, "PYTHONPATH": ":".join([*roots, *filter(None, [environ.get("PYTHONPATH")])])}


def _is_checkout(folder: Path) -> bool:
    return (folder / "manage.py").is_file() and (folder / "platform" / "portal").is_dir()
