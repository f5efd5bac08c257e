"""Live streams: nothing is lost, nothing is told twice, and only to those who may know."""

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
import redis.asyncio
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections
from django.test import Client

from accounts.models import Membership
from eventlog.models import Event
from eventlog.wakeups import JOBS_CHANNEL, job_channel
from jobs.models import Job
from portal import streams
from portal.broadcasts import Broadcasts
from tests.jobs.builders import NOW, World
from tests.portal.asgi_client import Application, Connection
from tests.portal.conftest import bearer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def serve() -> AsyncIterator[Application]:
    """The streams, with a subscription of this test's own."""
    broadcasts = Broadcasts(settings.ENV.redis_url)
    yield partial(streams.serve, broadcasts=broadcasts)
    await broadcasts.close()
    await sync_to_async(connections.close_all)()  # of the thread that this test's own queries ran in


@pytest.fixture
def job(committed_world: World) -> Job:
    """A job of team A; its only event so far is that it was submitted."""
    return committed_world.submit()


async def follow(serve: Application, path: str, headers: dict[str, str]) -> Connection:
    """An open stream."""
    connection = Connection(serve, path, headers=headers, method="GET").open()
    assert await connection.status() == 200
    return connection


async def publish(channel: str, message: dict[str, Any]) -> None:
    """What the eventlog does after a commit."""
    async with redis.asyncio.Redis.from_url(settings.ENV.redis_url) as client:
        await client.publish(channel, json.dumps(message))


async def add_event(job: Job, *, seq: int, kind: str, state: str) -> None:
    """A fact in the database that nobody was told of."""
    row = {"job_id": job.pk, "seq": seq, "kind": kind, "data": {"state": state}, "at": NOW}
    await sync_to_async(Event.objects.create)(**row)


def told(text: str) -> list[tuple[str, str]]:
    """Each message's kind and id."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != ":")
        if "event" in lines:
            found.append((lines["event"], lines.get("id", "")))
    return found


async def test_a_stream_replays_and_then_goes_on(
    serve: Application, job: Job, committed_world: World
) -> None:
    """First what the database has, then what comes, each event once."""
    await add_event(job, seq=2, kind="placed", state="starting")
    stream = await follow(serve, f"/stream/jobs/{job.pk}", await sync_to_async(bearer)(job.owner))
    await stream.until("placed")
    await publish(job_channel(job.pk), {"type": "event", "seq": 2, "kind": "placed", "state": "starting"})
    await publish(job_channel(job.pk), {"type": "event", "seq": 3, "kind": "started", "state": "running"})
    await publish(job_channel(job.pk), {"type": "metrics", "step": 10})
    text = await stream.until("metrics")
    events = [part for part in told(text) if part[0] == "event"]
    assert events == [("event", "1"), ("event", "2"), ("event", "3")]
    assert told(text)[-3:] == [("event", "3"), ("state", ""), ("metrics", "")]
    await stream.leave()


async def test_a_stream_goes_on_where_it_was_cut(serve: Application, job: Job) -> None:
    """A browser that comes back says what it saw last."""
    await add_event(job, seq=2, kind="placed", state="starting")
    headers = {**await sync_to_async(bearer)(job.owner), "Last-Event-ID": "1"}
    stream = await follow(serve, f"/stream/jobs/{job.pk}", headers)
    assert told(await stream.until("starting"))[0] == ("event", "2")
    await stream.leave()


async def test_an_event_whose_message_was_lost_comes_with_the_heartbeat(
    serve: Application, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis may lose a message; the database has the event."""
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.05)
    stream = await follow(serve, f"/stream/jobs/{job.pk}", await sync_to_async(bearer)(job.owner))
    await stream.until("still here")
    await add_event(job, seq=2, kind="placed", state="starting")
    assert ("event", "2") in told(await stream.until("starting"))
    await stream.leave()


async def test_a_browsers_session_is_as_good_as_a_token(serve: Application, job: Job) -> None:
    """Pages have no token."""
    client = Client()
    await sync_to_async(client.force_login)(job.owner)
    name = settings.SESSION_COOKIE_NAME
    stream = await follow(serve, f"/stream/jobs/{job.pk}", {"Cookie": f"{name}={client.cookies[name].value}"})
    await stream.until("id: 1")
    await stream.leave()


@pytest.mark.parametrize(
    ("path", "who"),
    [
        ("/stream/jobs/{job}", "outsider"),
        ("/stream/jobs/00000000-0000-0000-0000-000000000000", "owner"),
        ("/stream/jobs/not-an-id", "owner"),
        ("/stream/else", "owner"),
        ("/stream/jobs/{job}", None),
        ("/stream/jobs", None),
    ],
)
async def test_who_may_not_listen_gets_an_answer_like_everywhere(
    serve: Application, job: Job, committed_world: World, path: str, who: str | None
) -> None:
    """Another team's job and none read the same; without a user it is 401."""
    headers = await sync_to_async(bearer)(getattr(committed_world.cast, who)) if who else {}
    connection = Connection(serve, path.format(job=job.pk), headers=headers, method="GET").open()
    assert await connection.status() == (404 if who else 401)
    assert set(await connection.json()) == {"code", "message", "params", "details", "request_id"}


async def test_a_stream_ends_with_the_right_to_it(
    serve: Application, job: Job, committed_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who leaves the team stops hearing of its jobs, also in a tab that is open."""
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(streams, "CHECK_SECONDS", 0.0)
    stream = await follow(
        serve, f"/stream/jobs/{job.pk}", await sync_to_async(bearer)(committed_world.cast.teammate)
    )
    await stream.until("still here")
    await Membership.objects.filter(user=committed_world.cast.teammate).adelete()
    await stream.ended()


async def test_the_list_tells_of_my_teams_jobs_alone(serve: Application, committed_world: World) -> None:
    """Other teams' changes are not even a number."""
    cast = committed_world.cast
    stream = await follow(serve, "/stream/jobs", await sync_to_async(bearer)(cast.owner))
    await publish(JOBS_CHANNEL, {"job": "other", "team": str(cast.team_b.pk)})
    await publish(JOBS_CHANNEL, {"job": "mine", "team": str(cast.team_a.pk)})
    text = await stream.until("mine")
    assert "other" not in text
    await stream.leave()


async def test_open_streams_are_limited_per_user(
    serve: Application, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that forgets to close gets 429, and a place again once one is closed."""
    monkeypatch.setattr(streams, "MOST_PER_USER", 1)
    headers = await sync_to_async(bearer)(job.owner)
    path = f"/stream/jobs/{job.pk}"
    first = await follow(serve, path, headers)
    second = Connection(serve, path, headers=headers, method="GET").open()
    assert await second.status() == 429
    await first.leave()
    third = await follow(serve, path, headers)
    await third.leave()


async def test_a_listener_that_does_not_read_is_closed_and_slows_nobody() -> None:
    """What it missed it gets from the database when it comes back."""
    broadcasts = Broadcasts(settings.ENV.redis_url)
    async with broadcasts.listen("gangline:test") as slow, broadcasts.listen("gangline:test") as quick:
        async with redis.asyncio.Redis.from_url(settings.ENV.redis_url) as client:
            for number in range(2100):
                await client.publish("gangline:test", str(number))
                if number % 100 == 0:
                    await asyncio.sleep(0)
        assert await quick.get(timeout=5) == b"0"
        await asyncio.sleep(0.2)
        assert slow.overrun
    await broadcasts.close()
