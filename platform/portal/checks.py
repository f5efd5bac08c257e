"""Django system checks: rules across settings that one setting's own parser cannot see."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as CheckWarning

from portal.env import Env, Isolation

SHORTEST_SECRET = 24


@register(Tags.security)
def check_env(**_kwargs: Any) -> list[CheckMessage]:
    """All rules, on the settings that are in force."""
    return problems_of(settings.ENV)


def problems_of(env: Env) -> list[CheckMessage]:
    """What is wrong or doubtful about this environment."""
    rules = (_isolation(env), _https(env), _debug(env), _secrets(env), _topology(env), _silence(env))
    return [message for message in rules if message]


def _isolation(env: Env) -> CheckMessage | None:
    if env.isolation is not Isolation.REQUIRED:
        return None
    return Error(
        "GANGLINE_ISOLATION=required, but this version runs user code of all teams under one account.",
        hint="Set it to off for a cluster whose teams trust one another.",
        id="portal.E001",
    )


def _https(env: Env) -> CheckMessage | None:
    if env.https and urlsplit(env.public_url).scheme != "https":
        return Error("GANGLINE_HTTPS is set but GANGLINE_PUBLIC_URL is not https.", id="portal.E002")
    return None


def _debug(env: Env) -> CheckMessage | None:
    if env.debug and env.https:
        return Error("GANGLINE_DEBUG shows secrets to whoever can reach the portal.", id="portal.E003")
    return None


def _secrets(env: Env) -> CheckMessage | None:
    short = [name for name in ("secret_key", "conductor_token") if len(getattr(env, name)) < SHORTEST_SECRET]
    if not short:
        return None
    names = " and ".join(f"GANGLINE_{name.upper()}" for name in short)
    return CheckWarning(f"{names}: shorter than {SHORTEST_SECRET} characters.", id="portal.W001")


def _topology(env: Env) -> CheckMessage | None:
    if env.topology_levels[-1:] == ("node",) and len(set(env.topology_levels)) == len(env.topology_levels):
        return None
    return Error("GANGLINE_TOPOLOGY_LEVELS must end with node and name each level once.", id="portal.E004")


def _silence(env: Env) -> CheckMessage | None:
    if env.node_silence_seconds >= 3:
        return None
    return CheckWarning(
        "GANGLINE_NODE_SILENCE_SECONDS below 3: a busy node will seem lost.", id="portal.W002"
    )
