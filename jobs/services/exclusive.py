"""One at a time across all processes: advisory locks of PostgreSQL, which go with their session."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

# Arbitrary numbers that nothing else in this database locks.
TICK = 0x67_61_6E_67
ENSURE_CONDUCTOR = TICK + 1


@contextmanager
def alone(lock: int) -> Iterator[bool]:
    """Hold the lock while the block runs, if nobody else does; whether that is so. Never waits."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [lock])
        held = bool(cursor.fetchone()[0])
    try:
        yield held
    finally:
        if held:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [lock])
