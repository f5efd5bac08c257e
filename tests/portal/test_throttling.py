"""Limits per user and per address."""

import pytest
import redis
from django.conf import settings
from django.test import Client

from portal.throttling import AddressThrottle, UserThrottle
from tests.jobs.builders import World
from tests.portal.conftest import bearer


@pytest.mark.django_db
def test_a_user_beyond_the_limit_waits_and_others_do_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """429 says for how long."""
    monkeypatch.setattr(UserThrottle, "THROTTLE_RATES", {"user": "3/day", "address": "3/day"})
    owner, mate = bearer(world.cast.owner), bearer(world.cast.teammate)
    assert [Client().get("/api/v1/me", headers=owner).status_code for _ in range(4)] == [200, 200, 200, 429]
    answer = Client().get("/api/v1/me", headers=owner)
    assert 0 < int(answer.headers["Retry-After"]) <= 86_400
    assert answer.json()["code"] == "throttled"
    assert Client().get("/api/v1/me", headers=mate).status_code == 200


@pytest.mark.django_db
def test_who_has_no_user_is_limited_by_address(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The description of the API is open to all, but not without bounds."""
    monkeypatch.setattr(AddressThrottle, "THROTTLE_RATES", {"user": "3/day", "address": "3/day"})
    answers = [Client().get("/api/v1/schema").status_code for _ in range(4)]
    assert answers == [200, 200, 200, 429]


@pytest.mark.django_db
def test_without_redis_nobody_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit must not be what takes the service down."""

    def away(*_arguments: object) -> int:
        raise redis.ConnectionError("away")

    monkeypatch.setattr("portal.throttling._count", away)
    assert Client().get("/api/v1/me", headers=bearer(world.cast.owner)).status_code == 200


def test_rates_are_set() -> None:
    """Both limits exist in the settings."""
    rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]
    assert isinstance(rates, dict)
    assert set(rates) == {"user", "address"}
