"""System checks: rules across settings."""

import dataclasses
from typing import Any

import pytest

from portal.checks import problems_of
from portal.env import Isolation, read_env

SOUND = read_env(
    {
        "DATABASE_URL": "postgres://someone@127.0.0.1/db",
        "REDIS_URL": "redis://127.0.0.1/0",
        "GANGLINE_SECRET_KEY": "a-long-random-text-for-a-test",
        "GANGLINE_CONDUCTOR_TOKEN": "another-long-random-text-for-a-test",
    }
)


def test_a_sound_environment_has_no_problem() -> None:
    """The defaults are sound."""
    assert problems_of(SOUND) == []


@pytest.mark.parametrize(
    ("changes", "check_id"),
    [
        ({"isolation": Isolation.REQUIRED}, "portal.E001"),
        ({"https": True}, "portal.E002"),
        ({"https": True, "public_url": "https://gangline.example.org", "debug": True}, "portal.E003"),
        ({"topology_levels": ("zone", "rack")}, "portal.E004"),
        ({"topology_levels": ("rack", "rack", "node")}, "portal.E004"),
        ({"secret_key": "short"}, "portal.W001"),
        ({"node_silence_seconds": 1.0}, "portal.W002"),
    ],
)
def test_each_rule_has_an_id(changes: dict[str, Any], check_id: str) -> None:
    """So that it can be looked up, and silenced by name."""
    assert [message.id for message in problems_of(dataclasses.replace(SOUND, **changes))] == [check_id]
