"""Is the portal alive (`healthz`), can it do its work (`readyz`), and which version is it."""

from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_GET
from redis import Redis
from redis.exceptions import RedisError

OK = "ok"


@require_GET
def healthz(request: HttpRequest) -> JsonResponse:
    """200 while this process answers; touches nothing else."""
    return JsonResponse({"status": OK})


@require_GET
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when database, Redis and schema are there; 503 with what is missing otherwise."""
    database = _database()
    parts = {
        "database": database,
        "migrations": _migrations() if database == OK else "unknown",
        "redis": _redis(),
    }
    ready = all(state == OK for state in parts.values())
    return JsonResponse({"status": OK if ready else "not ready", **parts}, status=200 if ready else 503)


@require_GET
def version(request: HttpRequest) -> JsonResponse:
    """Which product this is, which API it speaks, and whether teams are separated from one another."""
    answer = {
        "name": "gangline",
        "version": product_version(),
        "api": "v1",
        "isolation": settings.ENV.isolation,
        "one_trust_domain": True,  # user code of all teams runs under one account
    }
    return JsonResponse(answer)


@cache
def product_version() -> str:
    """The installed version; `0+source` where the checkout was not installed."""
    try:
        return installed_version("gangline")
    except PackageNotFoundError:
        return "0+source"


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return type(error).__name__
    return OK


_schema_seen = False


def _migrations() -> str:
    """Looked at until it is up to date once: a running process never loses its schema."""
    global _schema_seen  # noqa: PLW0603  # a fact about the process
    if not _schema_seen:
        executor = MigrationExecutor(connection)
        _schema_seen = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return OK if _schema_seen else "behind"


def _redis() -> str:
    try:
        with Redis.from_url(settings.ENV.redis_url, socket_timeout=2, socket_connect_timeout=2) as client:
            client.ping()
    except RedisError as error:
        return type(error).__name__
    return OK
