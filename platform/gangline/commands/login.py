"""`gangline login`: get an API token and keep it in the profile file."""

import getpass
import os
import socket
import sys
from typing import Annotated

import typer

from gangline.config import Profile, load_profile, normal_url, save_profile
from gangline.connection import connect
from gangline.errors import BadUsage
from gangline.words import say


def command(
    ctx: typer.Context,
    *,
    url: Annotated[
        str | None,
        typer.Argument(help="The portal's address, e.g. http://127.0.0.1:8000.", show_default=False),
    ] = None,
    username: Annotated[str | None, typer.Option("-u", "--username", help="Asked for if left out.")] = None,
    token: Annotated[
        str | None,
        typer.Option(help="Use this API token instead of a password; `-` reads it from standard input."),
    ] = None,
) -> None:
    """Log in to a portal. Asks for the password; in scripts it is read from standard input."""
    address = normal_url(url) if url else load_profile().url
    secret = (
        _read_secret(say("API token: "))
        if token == "-"
        else token or _new_token(ctx, url=address, username=username)
    )
    profile = Profile(address, secret)
    with connect(ctx, profile=profile) as portal:
        me = portal.get("me")
    path = save_profile(profile)
    typer.echo(
        say(
            "Logged in to {url} as {name}. The token is kept in {path}.",
            url=address,
            name=me["username"],
            path=path,
        )
    )
    if os.environ.get("GANGLINE_TOKEN") or os.environ.get("GANGLINE_URL"):
        typer.echo(say("Note: GANGLINE_URL or GANGLINE_TOKEN is set and goes before this file."), err=True)


def _new_token(ctx: typer.Context, *, url: str, username: str | None) -> str:
    name = username or _ask(say("Username: "))
    body = {
        "username": name,
        "password": _read_secret(say("Password: ")),
        "token_name": f"{getpass.getuser()}@{socket.gethostname()}",
    }
    with connect(ctx, profile=Profile(url)) as portal:
        return str(portal.post_once("login", body)["token"])


def _ask(prompt: str) -> str:
    if not sys.stdin.isatty():
        raise BadUsage(say("No username was given."), todo=say("Give it with --username."))
    return input(prompt)


def _read_secret(prompt: str) -> str:
    secret = getpass.getpass(prompt) if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    if not secret:
        raise BadUsage(say("Nothing was given on standard input."))
    return secret
