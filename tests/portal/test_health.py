"""Health checks say what is missing."""

import pytest
from django.test import Client


@pytest.mark.django_db
def test_a_portal_with_its_servers_is_ready(client: Client) -> None:
    """Database, schema and Redis are each asked."""
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "database": "ok", "migrations": "ok", "redis": "ok"}
