"""The conductor's long poll."""

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections

from eventlog.models import Command
from portal import orders
from portal.broadcasts import Broadcasts
from ray_runtime.protocol import ORDERS_PATH
from tests.jobs.builders import World
from tests.portal.asgi_client import Application, Connection

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def serve() -> AsyncIterator[Application]:
    """The long poll, with a subscription of this test's own."""
    broadcasts = Broadcasts(settings.ENV.redis_url)
    yield partial(orders.serve, broadcasts=broadcasts)
    await broadcasts.close()
    await sync_to_async(connections.close_all)()  # of the thread that this test's own queries ran in


def poll(serve: Application, epoch: int, *, wait: float, token: str | None = None) -> Connection:
    """A poll under way."""
    shown = settings.ENV.conductor_token if token is None else token
    path = f"{ORDERS_PATH}?epoch={epoch}&wait={wait}"
    return Connection(serve, path, headers={"Authorization": f"Bearer {shown}"}, method="GET").open()


async def test_an_order_that_lies_there_is_answered_at_once(
    serve: Application, committed_world: World
) -> None:
    """And marked as handed over."""
    job = await sync_to_async(committed_world.submit)()
    attempt = await sync_to_async(committed_world.place)(job)
    started = time.monotonic()
    connection = poll(serve, committed_world.epoch, wait=20)
    assert await connection.status() == 200
    (order,) = (await connection.json())["orders"]
    assert (order["kind"], order["attempt_id"]) == ("launch", str(attempt.pk))
    assert time.monotonic() - started < 2
    assert (await Command.objects.aget()).delivered_at is not None


async def test_an_order_ends_the_wait(serve: Application, committed_world: World) -> None:
    """The commit wakes the poll; no clock has to come round."""
    job = await sync_to_async(committed_world.submit)()
    connection = poll(serve, committed_world.epoch, wait=20)
    await asyncio.sleep(0.5)
    started = time.monotonic()
    await sync_to_async(committed_world.place)(job)
    assert await connection.status() == 200
    assert len((await connection.json())["orders"]) == 1
    assert time.monotonic() - started < 1


async def test_without_orders_the_answer_is_empty_when_time_is_up(
    serve: Application, committed_world: World
) -> None:
    """Not an error, and not before."""
    started = time.monotonic()
    connection = poll(serve, committed_world.epoch, wait=0.6)
    assert await connection.status() == 200
    assert await connection.json() == {"orders": []}
    assert 0.5 < time.monotonic() - started < 5


async def test_a_deposed_conductor_gets_nothing(serve: Application, committed_world: World) -> None:
    """Its epoch is over: 409, and no order is marked as handed over."""
    job = await sync_to_async(committed_world.submit)()
    await sync_to_async(committed_world.place)(job)
    connection = poll(serve, committed_world.epoch - 1, wait=0)
    assert await connection.status() == 409
    assert (await Command.objects.aget()).delivered_at is None


@pytest.mark.parametrize("token", ["", "wrong"])
async def test_only_the_conductor_may_ask(serve: Application, committed_world: World, token: str) -> None:
    """Orders have tokens of attempts in them."""
    connection = poll(serve, committed_world.epoch, wait=0, token=token)
    assert await connection.status() == 401


async def test_a_poll_without_an_epoch_is_malformed(serve: Application) -> None:
    """A clear refusal."""
    headers = {"Authorization": f"Bearer {settings.ENV.conductor_token}"}
    connection = Connection(serve, ORDERS_PATH, headers=headers, method="GET").open()
    assert await connection.status() == 400
