"""`/metrics`: numbers that are right, for those who may see them."""

import dataclasses

import pytest
from django.conf import settings
from django.test import Client

from tests.jobs.builders import World
from tests.portal.conftest import bearer


@pytest.mark.django_db
def test_the_numbers_are_the_databases(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs by team and state, held accelerators, nodes, open orders; requests by route, never by address."""
    monkeypatch.setattr(settings, "ENV", dataclasses.replace(settings.ENV, metrics_token="for-prometheus"))
    job, _attempt = world.running()
    world.submit()
    Client().get(f"/api/v1/jobs/{job.pk}", headers=bearer(world.cast.owner))
    answer = Client().get("/metrics", headers={"Authorization": "Bearer for-prometheus"})
    text = answer.content.decode()
    team = world.cast.team_a.slug
    for line in (
        f'gangline_jobs{{state="running",team="{team}"}} 1.0',
        f'gangline_jobs{{state="queued",team="{team}"}} 1.0',
        'gangline_queue_used_accelerators{queue="a"} 4.0',
        'gangline_nodes{state="ready"} 2.0',
        "gangline_accelerators 8.0",
        "gangline_commands_open 1.0",
    ):
        assert line in text, text
    assert "jobs/<uuid:job_id>" in text
    assert str(job.pk) not in text


@pytest.mark.django_db
@pytest.mark.parametrize(("who", "status"), [("owner", 401), ("platform_admin", 200)])
def test_only_platform_admins_and_prometheus_may_read(world: World, who: str, status: int) -> None:
    """Teams' sizes are not everybody's business."""
    answer = Client().get("/metrics", headers=bearer(getattr(world.cast, who)))
    assert answer.status_code == status
    assert Client().get("/metrics").status_code == 401
