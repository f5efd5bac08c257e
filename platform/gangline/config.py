"""Where the portal is and who we are there: the environment first, then the profile file."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from gangline.errors import BadUsage
from gangline.words import say

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class Profile:
    """A portal's address, and the API token to use there (None: not logged in)."""

    url: str
    token: str | None = None


def profile_path(environ: Mapping[str, str]) -> Path:
    """`$GANGLINE_CONFIG`, else `gangline/config.yaml` below `$XDG_CONFIG_HOME` or `~/.config`."""
    if environ.get("GANGLINE_CONFIG"):
        return Path(environ["GANGLINE_CONFIG"])
    folder = environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME", "~")).expanduser() / ".config"
    return Path(folder) / "gangline" / "config.yaml"


def load_profile(environ: Mapping[str, str] = os.environ) -> Profile:
    """The profile in force. A token from the file is never sent to an address from the environment."""
    saved = _read(profile_path(environ))
    url = normal_url(environ.get("GANGLINE_URL") or saved.url)
    token = environ.get("GANGLINE_TOKEN") or (saved.token if url == saved.url else None)
    return Profile(url, token)


def save_profile(profile: Profile, environ: Mapping[str, str] = os.environ) -> Path:
    """Write the profile file, readable by its owner alone from its first byte on."""
    path = profile_path(environ)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        yaml.safe_dump({"url": profile.url, "token": profile.token}, file)
    draft.replace(path)
    return path


def normal_url(url: str) -> str:
    """The address without a trailing slash; only http and https are spoken."""
    if not url.startswith(("http://", "https://")):
        raise BadUsage(
            say("“{url}” is not a portal's address.", url=url),
            todo=say("Give it as http://host:port or https://host."),
        )
    return url.rstrip("/")


def _read(path: Path) -> Profile:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Profile(normal_url(data["url"]), data.get("token"))
    except FileNotFoundError:
        return Profile(DEFAULT_URL)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise BadUsage(
            say("The profile file {path} cannot be read ({why}).", path=path, why=type(error).__name__),
            todo=say("Delete it and run `gangline login` again."),
        ) from error
