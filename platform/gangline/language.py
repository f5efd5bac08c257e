"""The language that the user's terminal is set to, as HTTP names it."""

import os
from collections.abc import Mapping


def accept_language(environ: Mapping[str, str] = os.environ) -> str:
    """`LC_ALL`, `LC_MESSAGES` or `LANG` as an Accept-Language header; English where nothing is set."""
    name = next((environ[key] for key in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(key)), "")
    tag = name.split(".")[0].split("@")[0].replace("_", "-")
    if tag in ("", "C", "POSIX"):
        return "en"
    return f"{tag}, {tag.split('-')[0]};q=0.9, en;q=0.5"
